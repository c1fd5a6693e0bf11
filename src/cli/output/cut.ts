import { createRequire } from 'node:module'

/** The number of terminal cells of a text. Colours take none. */
export function widthOf(text: string): number {
  const bare = text.includes('\x1b') ? text.replace(colours, '') : text
  if (isSimple(bare)) return bare.length
  measure ??= createRequire(import.meta.url)('string-width').default as (text: string) => number
  return measure(text)
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: what a style puts around a text
const colours = /\x1b\[[\d;]*m/g

// Loaded lazily: its emoji tables take longer to load than a short command runs, and most texts need none.
let measure: ((text: string) => number) | undefined
let graphemes: Intl.Segmenter | undefined

function segments(text: string): Iterable<{ readonly segment: string }> {
  graphemes ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' })
  return graphemes.segment(text)
}

/** Cuts the end of a line so that it fits, with dots at the cut. Never splits a grapheme. The text has no
 *  colours: paint it afterwards. */
export function cut(text: string, width: number, dots = '…'): string {
  if (fits(text, width)) return text
  const room = width - widthOf(dots)
  if (room <= 0) return fittingStart(dots, width)
  return fittingStart(text, room).trimEnd() + dots
}

/** Cuts the middle of a line: both ends of a path matter. */
export function cutLineMiddle(text: string, width: number, dots = '…'): string {
  if (fits(text, width)) return text
  const room = width - widthOf(dots)
  if (room <= 0) return fittingStart(dots, width)
  const head = fittingStart(text, Math.floor(room / 2))
  return head + dots + end(text, room - widthOf(head))
}

/** Pads with spaces on the right. Colours in the text do not count. */
export function padEnd(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)))
}

/** Pads with spaces on the left. */
export function padStart(text: string, width: number): string {
  return ' '.repeat(Math.max(0, width - widthOf(text))) + text
}

/** The longest beginning that fits the width. */
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
  // A grapheme has at least one cell, so a long text need not be measured to its end.
  if (text.length <= width && isSimple(text)) return true
  return fittingStart(text, width).length === text.length
}

/** Letters of Latin, Greek and Cyrillic scripts and common signs: one cell each, and none combines with
 *  another. */
const simple =
  /^[\x20-\x7e\u00a1-\u00a8\u00aa-\u00ac\u00af-\u02ff\u0391-\u03a1\u03a3-\u03ff\u0400-\u0482\u048a-\u052f\u2010-\u2027\u2030-\u203b\u2212\u2500-\u259f]*$/

function isSimple(text: string): boolean {
  return simple.test(text)
}
