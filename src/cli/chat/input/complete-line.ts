import { type InputLine, replaceBefore, textBefore } from './input-line.ts'

/** Words that could stand where the cursor is. `before` is the text in front of the word, `word` its beginning. */
export type Completer = (before: string, word: string) => Promise<readonly string[]>

export interface Completion {
  readonly line: InputLine
  /** What could follow, if it is more than one. */
  readonly offered: readonly string[]
}

/** A line after Tab: the one word that fits, or as much as all that fit have in common. */
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
