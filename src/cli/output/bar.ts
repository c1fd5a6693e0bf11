const eighths = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉']

/** A bar for a share from 0 to 1 of the given width, in eighths of a cell; with ASCII only, in whole
 *  cells. */
export function bar(share: number, cells: number, unicode = true): string {
  const length = Math.max(0, Math.min(1, share)) * cells
  if (!unicode) return '#'.repeat(Math.round(length))
  const parts = Math.round(length * 8)
  return '█'.repeat(Math.floor(parts / 8)) + eighths[parts % 8]
}
