/** A title as a name for a file, of letters, digits and dashes: it cannot lead out of a folder, hide a file or name a
 *  flag. */
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
