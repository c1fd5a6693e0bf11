const eighths = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉']

/** A bar for a share from 0 to 1 of so many cells, to an eighth of a cell; in whole cells where there is only ASCII. */
export function bar(share: number, cells: number, unicode = true): string {
  const length = Math.max(0, Math.min(1, share)) * cells
  if (!unicode) return '#'.repeat(Math.round(length))
  const parts = Math.round(length * 8)
  return '█'.repeat(Math.floor(parts / 8)) + eighths[parts % 8]
}
