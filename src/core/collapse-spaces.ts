/** Collapses all white space to single spaces, so that the text is one line. */
export function collapseSpaces(text: string, most = 2000): string {
  // A message can be megabytes long, and a line shows only its beginning.
  const beginning = text.length > most * 4 ? text.slice(0, most * 4) : text
  return beginning.replace(/\s+/gu, ' ').trim()
}
