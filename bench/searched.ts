import type { ConversationId, MessageId } from '../src/core/ids.ts'
import type { NewMessage, NonEmpty } from '../src/core/message.ts'
import type { Store } from '../src/core/ports.ts'
import { makeTurn, workId } from './workload.ts'

/** The messages that are searched, and the searches: the same on both engines. */

/** Of a conversation. */
export const messagesEach = 50

const texts: string[] = []
const firstSaid = Date.parse('2020-01-01')

/** Stores fifty messages of about 200 characters, one every ten seconds, in a conversation of their own. One
 *  in five contains "common", one in 15,000 "rarely". */
export async function addSearched(store: Store, from: number): Promise<void> {
  const { branch } = await store.create({ id: workId(from) as ConversationId })
  const messages = Array.from({ length: messagesEach }, (_, i) => messageOf(from + i))
  const ref = { conversationId: branch.conversationId, name: 'main' }
  await store.append(ref, null as MessageId | null, messages as unknown as NonEmpty<NewMessage>)
}

function messageOf(number: number): NewMessage {
  if (texts.length === 0) {
    for (let i = 0; i < 1_000; i++) texts.push((makeTurn(i).messages[0].content[0] as { text: string }).text)
  }
  const marks = `${number % 5 === 0 ? 'common ' : ''}${number % 15_000 === 77 ? 'rarely ' : ''}`
  const role = number % 2 === 0 ? 'user' : 'assistant'
  const at = new Date(firstSaid + number * 10_000)
  return { role, createdAt: at, content: `${marks}${number} ${texts[number % 1_000]!.slice(0, 190)}` }
}

export const questions = {
  rare: { query: 'rarely', order: 'newest' },
  common: { query: 'common', order: 'newest' },
  both: { query: 'common rarely', order: 'newest' },
  phrase: { query: '"error function"', order: 'newest' },
  // Words that are never adjacent, each in a fifth of the messages or more.
  commonPhrase: { query: '"the common"', order: 'newest' },
  prefix: { query: 'comm*', order: 'newest' },
  twoLetters: { query: 're*', order: 'newest' },
  rarePrefix: { query: 'rarel*', order: 'newest' },
  ranked: { query: 'common', order: 'ranked' },
  rankedTwo: { query: 'common error', order: 'ranked' },
} as const

export type Question = keyof typeof questions

export const questionNames = Object.keys(questions) as Question[]

/** Milliseconds. */
export function goalOf(name: Question): number {
  if (name === 'commonPhrase') return 500
  if (name === 'rankedTwo') return 20
  return name === 'ranked' ? 15 : 5
}

/** The work of a row. */
export function rowOf(name: Question, count: number): string {
  const { query, order } = questions[name]
  return `search ${count.toLocaleString('en')} messages: ${query}, ${order}`
}
