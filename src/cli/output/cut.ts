import { createRequire } from 'node:module'

/** Cells that a text takes on a terminal; colours take none. */
export function widthOf(text: string): number {
  const bare = text.includes('\x1b') ? text.replace(colours, '') : text
  if (isSimple(bare)) return bare.length
  measure ??= createRequire(import.meta.url)('string-width').default as (text: string) => number
  return measure(text)
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: what a style puts around a text
const colours = /\x1b\[[\d;]*m/g

// Its tables of emoji take longer to load than the rest of a short command, and most texts do without them.
let measure: ((text: string) => number) | undefined
let graphemes: Intl.Segmenter | undefined

function segments(text: string): Iterable<{ readonly segment: string }> {
  graphemes ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' })
  return graphemes.segment(text)
}

/** Cuts a line on its right so that it fits, with dots where something went. Never splits what is seen as one
 *  character. The text holds no colours: paint it afterwards. */
export function cut(text: string, width: number, dots = '…'): string {
  if (fits(text, width)) return text
  const room = width - widthOf(dots)
  if (room <= 0) return fittingStart(dots, width)
  return fittingStart(text, room).trimEnd() + dots
}

/** Cuts a line in its middle: both ends of a path tell what it is. */
export function cutMiddle(text: string, width: number, dots = '…'): string {
  if (fits(text, width)) return text
  const room = width - widthOf(dots)
  if (room <= 0) return fittingStart(dots, width)
  const head = fittingStart(text, Math.floor(room / 2))
  return head + dots + end(text, room - widthOf(head))
}

/** White space of any kind becomes one space: what was written in lines, on one. */
export function collapseSpaces(text: string, most = 2000): string {
  // A message can be megabytes long; no line shows more than its beginning.
  const beginning = text.length > most * 4 ? text.slice(0, most * 4) : text
  return beginning.replace(/\s+/gu, ' ').trim()
}

/** Fills up with spaces on the right; colours in the text do not count. */
export function padEnd(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)))
}

/** Fills up with spaces on the left. */
export function padStart(text: string, width: number): string {
  return ' '.repeat(Math.max(0, width - widthOf(text))) + text
}

/** The longest beginning that fits. */
export function fittingStart(text: string, width: number): string {
  if (isSimple(text)) return text.slice(0, Math.max(0, width))
  let used = 0
  let at = 0
  for (const { segment } of segments(text)) {
    const cells = widthOf(segment)
    if (used + cells > width) break
    used += cells
    at += segment.length
  }
  return text.slice(0, at)
}

function end(text: string, width: number): string {
  const characters = Array.from(segments(text), ({ segment }) => segment)
  let used = 0
  let from = characters.length
  while (from > 0) {
    const cells = widthOf(characters[from - 1]!)
    if (used + cells > width) break
    used += cells
    from--
  }
  return characters.slice(from).join('')
}

function fits(text: string, width: number): boolean {
  // A grapheme has at least one cell for all that counts here, so a long text need not be measured to its end.
  if (text.length <= width && isSimple(text)) return true
  return fittingStart(text, width).length === text.length
}

/** Letters of Latin, Greek and Cyrillic scripts, and the usual signs: one cell each, and none joins with another. */
const simple =
  /^[\x20-\x7e\u00a1-\u00a8\u00aa-\u00ac\u00af-\u02ff\u0391-\u03a1\u03a3-\u03ff\u0400-\u0482\u048a-\u052f\u2010-\u2027\u2030-\u203b\u2212\u2500-\u259f]*$/

function isSimple(text: string): boolean {
  return simple.test(text)
}
