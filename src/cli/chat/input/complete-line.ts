import { type InputLine, replaceBefore, textBefore } from './input-line.ts'

/** A text that may complete the input. */
export interface Candidate {
  /** Replaces the unfinished word. */
  readonly text: string
  /** As the list shows it. Default: the text. */
  readonly shown?: string
  /** What it is, such as the title of a conversation. */
  readonly about?: string
  /** True if the word may continue, as a path after a folder does. Default: false. */
  readonly isOpen?: boolean
}

/** The candidates for the unfinished word before the cursor. */
export interface Candidates {
  readonly word: string
  readonly all: readonly Candidate[]
}

/** Returns the candidates for the text before the cursor, only those that fit it. */
export type Completer = (text: string) => Promise<Candidates>

export interface Completion {
  readonly line: InputLine
  /** The candidates, if there are several. */
  readonly offered: readonly Candidate[]
}

/** The candidates that begin with the word. Without one, those whose description contains it. */
export function fittingCandidates(word: string, all: readonly Candidate[]): readonly Candidate[] {
  const begun = all.filter(({ text }) => text.startsWith(word))
  if (begun.length > 0 || word === '') return begun
  return all.filter(({ about = '' }) => about.toLowerCase().includes(word.toLowerCase()))
}

/** The line after Tab: completed to the only candidate, or to the common beginning of all candidates. */
export async function completeLine(line: InputLine, complete: Completer): Promise<Completion> {
  const { word, all } = await complete(textBefore(line))
  const [only, ...others] = all
  if (!only) return { line, offered: [] }
  if (others.length === 0)
    return { line: replaceWord(line, word, `${only.text}${only.isOpen ? '' : ' '}`), offered: [] }
  const shared = all.map(({ text }) => text).reduce(sharedStart)
  const isLonger = shared.length > word.length && shared.startsWith(word)
  return { line: isLonger ? replaceWord(line, word, shared) : line, offered: all }
}

function replaceWord(line: InputLine, word: string, text: string): InputLine {
  let cells = 0
  for (let left = word.length; left > 0; cells++) left -= line.cells[line.at - 1 - cells]!.value.length
  return replaceBefore(line, cells, text)
}

function sharedStart(a: string, b: string): string {
  let n = 0
  while (n < a.length && a[n] === b[n]) n++
  return a.slice(0, n)
}
