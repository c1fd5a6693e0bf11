/** The longest end of a text that is kept, whatever its lines are. */
const mostChars = 64 * 1024

/** Keeps the last lines of a text that may be endless. */
export interface LastLines {
  add(text: string): void
  text(): string
}

export function lastLines(count: number): LastLines {
  let kept = ''
  return {
    add(text) {
      kept += text
      if (kept.length > 2 * mostChars) kept = kept.slice(-mostChars)
    },
    text: () => kept.slice(-mostChars).trimEnd().split('\n').slice(-count).join('\n'),
  }
}
