/** A title as a file name of letters, digits and dashes: it cannot contain a path, hide the file, or look
 *  like a flag. */
export function slugOf(title: string | null): string {
  const words =
    (title ?? '')
      .normalize('NFKD')
      .replace(/\p{M}/gu, '')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  const slug = [...words.join('-')].slice(0, 60).join('').replace(/-+$/, '')
  return slug || 'conversation'
}
