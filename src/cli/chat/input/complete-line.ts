import { type InputLine, replaceBefore, textBefore } from './input-line.ts'

/** Returns the words that may complete the input. `word` is the unfinished word before the cursor, `before`
 *  the text before that word. */
export type Completer = (before: string, word: string) => Promise<readonly string[]>

export interface Completion {
  readonly line: InputLine
  /** The candidates, if there are several. */
  readonly offered: readonly string[]
}

/** The line after Tab: completed to the only candidate, or to the common beginning of all candidates. */
export async function completeLine(line: InputLine, complete: Completer): Promise<Completion> {
  const text = textBefore(line)
  const word = /\S*$/.exec(text)![0]
  const before = text.slice(0, text.length - word.length)
  const fitting = (await complete(before, word)).filter(candidate => candidate.startsWith(word))
  if (fitting.length === 0) return { line, offered: [] }
  const shared = fitting.reduce(sharedStart)
  const rest = fitting.length === 1 ? `${shared.slice(word.length)} ` : shared.slice(word.length)
  return {
    line: rest === '' ? line : replaceBefore(line, 0, rest),
    offered: fitting.length === 1 ? [] : fitting,
  }
}

function sharedStart(a: string, b: string): string {
  let n = 0
  while (n < a.length && a[n] === b[n]) n++
  return a.slice(0, n)
}
