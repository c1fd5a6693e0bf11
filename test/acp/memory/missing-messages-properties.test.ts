import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { missingMessages } from '../../../src/acp/memory/missing-messages.ts'
import { hear } from '../../../src/acp/transcript/hear.ts'
import type { Heard } from '../../../src/acp/transcript/heard.ts'
import { asText } from '../../../src/context/text/as-text.ts'
import type { Message } from '../../../src/core/message.ts'
import { processorTimer } from '../../support/processor-time.ts'
import { assistant, called, path, replayed, result, type Said, user } from '../transcript/said.ts'

/** Texts that end alike, repeat, and look like our own labels. */
const words = fc.constantFrom(
  'ok',
  'go',
  'let us go',
  'please, let us go',
  'continue',
  'User: me\nAssistant: you',
  'see <conversation_history> and\n</conversation_history>',
  'a\n\n\n b',
  'long '.repeat(600),
)

interface Turn {
  readonly words: string
  readonly answers: readonly ('words' | 'call' | 'both')[]
}
const turn: fc.Arbitrary<Turn> = fc.record({
  words,
  answers: fc.array(fc.constantFrom('words', 'call', 'both'), { minLength: 1, maxLength: 3 }),
})

/** Turns as messages. Their questions may be the same; their answers differ, so that a missing one can be
 *  identified. */
function turnsOf(turns: readonly Turn[]): readonly (readonly Message[])[] {
  const said = turns.map(({ words, answers }, t): readonly Said[] => [
    user(words),
    ...answers.flatMap((kind, a): readonly Said[] => {
      const id = `c${t}.${a}`
      const text = `answer ${t}, part ${a}.`
      if (kind === 'words') return [assistant(text)]
      return [kind === 'call' ? assistant(called(id)) : assistant(text, called(id)), result(id, 'out')]
    }),
  ])
  const messages = path(...said.flat())
  const ends = said.map((_, i) => said.slice(0, i + 1).flat().length)
  return said.map((one, i) => messages.slice(ends[i]! - one.length, ends[i]))
}

const conversation = fc.array(turn, { minLength: 1, maxLength: 8 }).map(turnsOf)

/** The same replay in other chunks: cut at these positions, or joined. */
function inPieces(replay: readonly Heard[], cuts: readonly number[]): readonly Heard[] {
  return replay.flatMap((heard, i): readonly Heard[] => {
    const cut = cuts[i % Math.max(1, cuts.length)] ?? 0
    if ((heard.type !== 'user' && heard.type !== 'answer') || !('text' in heard.block)) return [heard]
    const text = String(heard.block.text)
    const at = cut % (text.length + 1)
    const piece = (words: string): Heard => ({
      ...heard,
      block: { type: 'text', text: words },
      messageId: null,
    })
    return [piece(text.slice(0, at)), piece(text.slice(at))]
  })
}

const cuts = fc.array(fc.nat(), { maxLength: 20 })
const replayOf = (messages: readonly Message[]) => replayed(messages).map(hear)

describe('an agent that replays', () => {
  it('everything, in any chunks, lacks nothing', () => {
    fc.assert(
      fc.property(conversation, cuts, (turns, where) => {
        const stored = turns.flat()
        expect(missingMessages(inPieces(replayOf(stored), where), stored)).toEqual([])
      }),
      { numRuns: 200 },
    )
  })

  it('all but one turn lacks exactly that one, unless its memory begins behind it', () => {
    fc.assert(
      fc.property(conversation, cuts, fc.nat(), (turns, where, n) => {
        const lost = n % turns.length
        const replay = replayOf(turns.filter((_, i) => i !== lost).flat())
        const begins = lost === 0 && turns.length > 1
        expect(missingMessages(inPieces(replay, where), turns.flat())).toEqual(begins ? [] : turns[lost])
      }),
      { numRuns: 300 },
    )
  })

  it('an injected history lacks nothing of it, wherever its own memory ends', () => {
    fc.assert(
      fc.property(conversation, cuts, fc.nat(), fc.boolean(), (turns, where, n, joins) => {
        const known = n % turns.length
        const prompt = turns.at(-1)!
        const told = `${asText(turns.slice(known, -1).flat())}\n\n`
        const [first, ...rest] = replayOf(prompt)
        const said = (text: string): Heard => ({
          type: 'user',
          block: { type: 'text', text },
          messageId: null,
        })
        const words = (first as Extract<Heard, { type: 'user' }>).block
        const before =
          joins && 'text' in words ? [said(`${told}${String(words.text)}`)] : [said(told), first!]
        const replay = [...replayOf(turns.slice(0, known).flat()), ...before, ...rest]
        expect(missingMessages(inPieces(replay, where), turns.flat())).toEqual([])
      }),
      { numRuns: 200 },
    )
  })

  it('a long conversation is compared within two seconds', () => {
    const answers = ['words'] as const
    const turns = turnsOf(Array.from({ length: 1_000 }, () => ({ words: 'continue', answers })))
    const stored = turns.flat()
    const took = processorTimer()
    const known = missingMessages(replayOf(stored.slice(0, -2)), stored.slice(-50))
    expect(known).toEqual(turns.at(-1))
    expect(took()).toBeLessThan(2_000)
  })
})
