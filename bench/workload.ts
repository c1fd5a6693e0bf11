import type { Block } from '../src/core/block.ts'
import type { NewMessage, NonEmpty, Role } from '../src/core/message.ts'

/** One turn of the workload: a user message, and the answer of an agent with one tool. */
export interface WorkTurn {
  readonly key: string
  readonly model: string
  readonly usage: { readonly input: number; readonly output: number }
  readonly messages: NonEmpty<WorkMessage>
}

export interface WorkMessage extends NewMessage {
  readonly role: Role
  readonly content: readonly Block[]
}

/** Those after the 28th are not function words. */
export const commonWords = (
  'the a to of and in that it is for on with as this be are from at by not or if we can will which when all ' +
  'file test error function value string number list index store message branch append commit query table ' +
  'reader writer buffer cache server client request response handler stream parse build deploy check retry ' +
  'should would because after before between without however therefore instead actually probably simply ' +
  'first second third last next previous current several another different same new old small large fast ' +
  'return import export const async await throw catch class type interface extends undefined null true false'
).split(' ')

/** Pseudo-random numbers, the same in every run. */
function mulberry(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Text of about this many characters, with line breaks and quotes as in prose and code. Joined at the end,
 *  so that it is one flat string, as from a network, and not a rope of its pieces. */
function prose(random: () => number, characters: number): string {
  const pieces: string[] = []
  for (let length = 0; length < characters; ) {
    const word = commonWords[Math.floor(random() * commonWords.length)]!
    const end = random()
    const mark = end < 0.06 ? '.\n' : end < 0.1 ? ', "' : end < 0.14 ? '" ' : ' '
    pieces.push(word, mark)
    length += word.length + mark.length
  }
  return pieces.join('')
}

/** The turn with this number: 4 messages, 7 blocks, about 3,900 characters of text. */
export function makeTurn(number: number): WorkTurn {
  const random = mulberry(number + 1)
  const callId = `call_${number.toString(36).padStart(20, 'x')}`
  return {
    key: `turn-${number.toString(36).padStart(12, '0')}`,
    model: 'model-large-4',
    usage: { input: 12_000 + (number % 1_000), output: 900 },
    messages: [
      { role: 'user', content: [{ type: 'text', text: prose(random, 300) }] },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', text: prose(random, 500) },
          { type: 'text', text: prose(random, 150) },
          {
            type: 'tool_call',
            callId,
            name: 'read_file',
            input: { path: `src/part/file-${number % 977}.ts`, limit: 200, reason: prose(random, 60) },
          },
        ],
      },
      { role: 'tool_result', content: [{ type: 'tool_result', callId, output: prose(random, 1_800) }] },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', text: prose(random, 300) },
          { type: 'text', text: prose(random, 800) },
        ],
      },
    ],
  }
}

export function makeTurns(from: number, count: number): WorkTurn[] {
  return Array.from({ length: count }, (_, i) => makeTurn(from + i))
}

/** A conversation id for a number, the same for all contenders. */
export function workId(number: number): string {
  const spread = Math.imul(number + 1, 0x9e3779b1) >>> 0
  return `${spread.toString(16).padStart(8, '0')}-0000-4000-8000-${number.toString(16).padStart(12, '0')}`
}
