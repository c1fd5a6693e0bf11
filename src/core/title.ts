const longest = 60

/** A title from the beginning of a user message: one line of at most 60 graphemes. Null if the text is
 *  empty. */
export function titleFrom(text: string): string | null {
  // Only the beginning matters, and the first message may be megabytes long.
  const start = text.trimStart().slice(0, 2_000)
  const line = start.replace(spaces, ' ').trim().toWellFormed()
  if (line === '') return null
  return cutGraphemes(line, longest)
}

// Control characters by their numbers: V8 takes long to look up \p{Cc}.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const spaces = /[\s\x00-\x1f\x7f-\x9f]+/g

const ascii = /^[ -~]*$/

// Created lazily: the first segmenter takes 20 ms, and further ones 8 µs.
let graphemes: Intl.Segmenter | undefined

/** Cuts between graphemes, so that emoji and accents stay whole. */
function cutGraphemes(line: string, most: number): string {
  if (line.length <= most) return line
  if (ascii.test(line.slice(0, most + 1))) return `${line.slice(0, most - 1).trimEnd()}…`
  graphemes ??= new Intl.Segmenter('en', { granularity: 'grapheme' })
  let count = 0
  let end = 0
  let shorter = 0
  for (const { index, segment } of graphemes.segment(line)) {
    if (++count > most) return `${line.slice(0, shorter).trimEnd()}…`
    if (count === most) shorter = end
    end = index + segment.length
  }
  return line
}
