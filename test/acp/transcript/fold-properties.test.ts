import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createFold, type Fold, type FoldEffect } from '../../../src/acp/transcript/fold.ts'
import { hear } from '../../../src/acp/transcript/hear.ts'
import type { Heard } from '../../../src/acp/transcript/heard.ts'
import type { Block } from '../../../src/core/block.ts'
import { isNonEmpty, type NewMessage } from '../../../src/core/message.ts'
import { prepareMessages } from '../../../src/core/prepare.ts'
import { anyUpdate, bentUpdate } from './any-update.ts'

const turns = fc.array(fc.oneof({ weight: 9, arbitrary: anyUpdate }, bentUpdate), { maxLength: 25 })
const settling = fc.array(fc.boolean(), { maxLength: 25 })

interface Followed {
  readonly messages: readonly NewMessage[]
  readonly effects: readonly FoldEffect[]
  /** The messages before the end of the turn. */
  readonly before: number
}

/** Folds a turn, and checks at each step that no text is lost: text without a message is drafted. */
function follow(fold: Fold, heard: readonly Heard[], settles: readonly boolean[]): Followed {
  const effects: FoldEffect[] = []
  let said = ''
  const nothingIsLost = () => {
    const drafted = fold.drafted.map(({ text }) => text).join('')
    expect(wordsOf(messagesFromReplay(effects)) + drafted).toBe(said)
  }
  for (const [i, one] of heard.entries()) {
    effects.push(...fold.hear(one))
    said += wordsIn(one)
    nothingIsLost()
    if (settles[i]) effects.push(...fold.settle())
    nothingIsLost()
  }
  const before = messagesFromReplay(effects).length
  effects.push(...fold.end())
  nothingIsLost()
  return { messages: messagesFromReplay(effects), effects, before }
}

function messagesFromReplay(effects: readonly FoldEffect[]): readonly NewMessage[] {
  return effects.flatMap(effect => (effect.type === 'message' ? [effect.message] : []))
}

const blocksOf = ({ content: blocks }: NewMessage) => blocks as readonly Block[]
const isWords = ({ type }: Block) => type === 'text' || type === 'thinking'

function wordsOf(messages: readonly NewMessage[]): string {
  return messages
    .flatMap(blocksOf)
    .filter(isWords)
    .map(block => ('text' in block ? block.text : ''))
    .join('')
}

function wordsIn(heard: Heard): string {
  if (heard.type === 'thought') return heard.text
  return heard.type === 'answer' && isWords(heard.block) && 'text' in heard.block
    ? String(heard.block.text)
    : ''
}

function idsOf(messages: readonly NewMessage[], type: 'tool_call' | 'tool_result'): readonly string[] {
  return messages.flatMap(blocksOf).flatMap(block => (block.type === type ? [String(block.callId)] : []))
}

/** Throws if a message is between a call and its result. */
function resultsFollowCalls(messages: readonly NewMessage[]): void {
  let waiting = new Set<string>()
  for (const message of messages) {
    if (message.role === 'assistant') {
      expect([...waiting]).toEqual([])
      waiting = new Set(idsOf([message], 'tool_call'))
    } else for (const id of idsOf([message], 'tool_result')) expect(waiting.delete(id)).toBe(true)
  }
}

describe('any turn', () => {
  it('keeps all text once and in order, each call once, and each result behind its call', () => {
    fc.assert(
      fc.property(turns, settling, (updates, settles) => {
        const heard = updates.map(hear)
        const { messages, effects, before } = follow(createFold(), heard, settles)
        if (isNonEmpty(messages)) prepareMessages(messages)
        const announced = new Set(heard.flatMap(one => (one.type === 'call' ? [one.call.callId] : [])))
        const calls = idsOf(messages, 'tool_call')
        expect([...calls].sort()).toEqual([...announced].sort())
        const results = idsOf(messages, 'tool_result')
        expect(new Set(results).size).toBe(results.length)
        resultsFollowCalls(messages.slice(0, before))
        const steps = effects.flatMap(({ type, ...rest }) =>
          type === 'started' || type === 'ended' ? [`${type} ${'callId' in rest ? rest.callId : ''}`] : [],
        )
        for (const id of calls) expect(steps).toContain(`started ${id}`)
        for (const id of results)
          expect(steps.indexOf(`ended ${id}`)).toBeGreaterThan(steps.indexOf(`started ${id}`))
        expect(steps.length).toBe(calls.length + results.length)
      }),
      { numRuns: 200 },
    )
  })

  it('gives the same messages however its text is split', () => {
    const pieces = fc.array(
      fc.array(fc.string({ minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 4 }),
    )
    fc.assert(
      fc.property(pieces, texts => {
        const say = (text: string): Heard => ({
          type: 'answer',
          block: { type: 'text', text },
          messageId: null,
        })
        const call = (i: number): Heard => ({ type: 'call', call: { callId: `c${i}`, status: 'completed' } })
        const split = texts.flatMap((text, i) => [...text.map(say), call(i)])
        const whole = texts.flatMap((text, i) => [say(text.join('')), call(i)])
        expect(follow(createFold(), split, []).messages).toEqual(follow(createFold(), whole, []).messages)
      }),
      { numRuns: 100 },
    )
  })

  it('fails these checks if text is lost, or a call is separated from its result (control)', () => {
    const heard = [
      { sessionUpdate: 'tool_call', toolCallId: 'a', status: 'in_progress' },
      { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'meanwhile' } },
      { sessionUpdate: 'tool_call', toolCallId: 'b', status: 'in_progress' },
      { sessionUpdate: 'tool_call_update', toolCallId: 'a', status: 'completed' },
    ].map(hear)
    const fold = createFold()
    const forgetful = { ...fold, drafted: [] }
    expect(() => follow(forgetful, heard, [])).toThrow()
    const { messages } = follow(createFold(), heard, [])
    resultsFollowCalls(messages)
    const [calls, result, next] = messages
    expect(() => resultsFollowCalls([calls!, next!, result!])).toThrow()
  })
})
