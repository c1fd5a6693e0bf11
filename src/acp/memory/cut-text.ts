/** Cuts a line, with a mark at its end. A surrogate pair is not split. */
export function cutLine(line: string, most: number): string {
  return line.length <= most ? line : `${line.slice(0, most).replace(/[\ud800-\udbff]$/, '')}…`
}

/** The beginning and the end of a long text, with a line between them that says how much is left out. */
export function headAndTail(text: string, most: number): string {
  if (text.length <= most) return text
  const head = text.slice(0, Math.ceil(most * 0.6)).replace(/[\ud800-\udbff]$/, '')
  const tail = text.slice(-Math.floor(most * 0.4)).replace(/^[\udc00-\udfff]/, '')
  return `${head}\n[… ${text.length - head.length - tail.length} characters left out …]\n${tail}`
}

/** The same mark in a text without white space. */
export const leftOutMark = /\[…\d+charactersleftout…\]/
