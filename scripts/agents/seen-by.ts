import type { AcpClient } from '../../test/acp/agents/client.ts'
import { answerOf, halfOf, type MarkedModel, questionOf, timesGiven } from './model.ts'

/** The text of a table cell: `yes`, or the observed deviation. */
export type Cell = string

/** The texts that the model must receive exactly once. */
export interface Expected {
  readonly turns: readonly string[]
  readonly questions?: readonly string[]
  readonly halves?: readonly string[]
}

/** Whether the model received these with the last question. */
export function givenToModel(model: MarkedModel, question: string, expected: Expected): Cell {
  const asked = model.asked(question)
  if (asked === null) return 'no: the model was not asked'
  return verdict(textsOf(expected).map(text => [text, timesGiven(asked, text)]))
}

/** Whether an editor shows these, each once. */
export function shownIn(client: AcpClient, sessionId: string, expected: Expected): Cell {
  const thread = client.thread(sessionId)
  return verdict(textsOf(expected).map(text => [text, thread.times(text)]))
}

/** The words to search for. */
export function textsOf({ turns, questions = [], halves = [] }: Expected): readonly string[] {
  return [
    ...turns.flatMap(name => [questionOf(name), answerOf(name)]),
    ...questions.map(questionOf),
    ...halves.map(halfOf),
  ]
}

/** `yes` if each was found once. */
export function verdict(counts: readonly (readonly [text: string, times: number])[]): Cell {
  const wrong = counts.filter(([, times]) => times !== 1)
  if (wrong.length === 0) return 'yes'
  if (wrong.every(([, times]) => times === 0)) return wrong.length === counts.length ? 'no' : 'in part'
  return `no: ${wrong.map(([text, times]) => `${text} ${times}×`).join(', ')}`
}
