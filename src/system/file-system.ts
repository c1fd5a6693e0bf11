/** File systems on which the locks of SQLite are not reliable between machines, or at all. */
const network = new RegExp(
  '^(nfs\\d?|cifs|smb\\d?|smbfs|9p|afs|ceph|glusterfs|lustre|gfs2?|ocfs2|beegfs|orangefs|davfs|vboxsf|' +
    'fuse\\.(sshfs|s3fs|rclone|gcsfuse|goofys|blobfuse2?|glusterfs|ceph|davfs|vmhgfs-fuse|nfs|smbnetfs|juicefs))$',
)

/** Whether a type of file system, as `mount` names it, is on another machine. */
export function isNetworkFileSystem(type: string): boolean {
  return network.test(type)
}

/** The type of the file system of an absolute path, from the text of `/proc/self/mountinfo`: that of the
 *  longest mount point above the path. Null if the text has none. */
export function fileSystemOf(path: string, mountinfo: string): string | null {
  let [longest, type]: [number, string | null] = [-1, null]
  for (const line of mountinfo.split('\n')) {
    const [before = '', after = ''] = line.split(' - ', 2)
    const point = before
      .split(' ')[4]
      ?.replaceAll(/\\(\d{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8)))
    const found = after.split(' ', 1)[0]
    if (point === undefined || !found) continue
    const isAbove = point === '/' || path === point || path.startsWith(`${point}/`)
    // Of several mounts on one point, the last is the visible one.
    if (isAbove && point.length >= longest) [longest, type] = [point.length, found]
  }
  return type
}
