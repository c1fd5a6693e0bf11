import { describe, expect, it } from 'vitest'
import type { FoldEffect } from '../../../src/acp/transcript/fold.ts'
import { callInPermission } from '../../../src/acp/transcript/hear.ts'
import type { CallChange, Heard } from '../../../src/acp/transcript/heard.ts'
import { recordTurn, settleMs } from '../../../src/acp/transcript/record-turn.ts'
import { UnavailableError } from '../../../src/core/errors.ts'
import type { Json } from '../../../src/core/json.ts'
import type { Message } from '../../../src/core/message.ts'
import { collectPages } from '../../../src/core/pages.ts'
import { pathOf } from '../../../src/core/path.ts'
import { beginTurn, type Trouble } from '../../../src/recorder/index.ts'
import { settle } from '../../recorder/clockwork.ts'
import { type Place, place } from '../../recorder/place.ts'

const say = (text: string): Heard => ({ type: 'answer', block: { type: 'text', text }, messageId: null })
const think = (text: string): Heard => ({ type: 'thought', text, messageId: null })
const call = (callId: string, status: CallChange['status'], more: Partial<CallChange> = {}): Heard => ({
  type: 'call',
  call: { callId, name: 'read', ...(status ? { status } : {}), ...more },
})

/** A turn that has begun with a question. */
async function begun(here: Place, through = here.store) {
  const { branch, clock } = here
  const recording = await beginTurn(
    through,
    branch,
    { words: [{ role: 'user', content: 'go' }], key: 'k' },
    clock,
  )
  const effects: FoldEffect[] = []
  const troubles: Trouble[] = []
  const record = recordTurn(recording, {
    source: clock,
    onEffect: effect => effects.push(effect),
    onTrouble: trouble => troubles.push(trouble),
  })
  return { record, recording, effects, troubles }
}

/** The messages of the branch, one line each. */
async function stored({ store, branch }: Place): Promise<readonly string[]> {
  const { head } = await store.getBranch(branch)
  return head === null ? [] : (await pathOf(store, head)).map(inShort)
}

function inShort({ role, content: blocks, metadata: meta }: Message): string {
  const parts = blocks.map(block => {
    if (block.type === 'tool_call') return `call ${String(block.callId)}`
    if (block.type === 'tool_result') return `result ${String(block.callId)}`
    return 'text' in block ? String(block.text) : block.type
  })
  return `${role}: ${parts.join(' | ')}${meta ? ` ${JSON.stringify(meta)}` : ''}`
}

describe('a recorded turn', () => {
  it('is stored as it happens, with its tools in the trace (S1-32)', async () => {
    const here = await place()
    const { record, recording, effects } = await begun(here)
    record.hear(think('Hm.'))
    record.hear(say('I look.'))
    record.hear(call('a', 'in_progress', { input: { path: 'x' } }))
    await settle()
    expect(await stored(here)).toEqual(['user: go', 'assistant: Hm. | I look. | call a'])
    record.hear(call('a', 'failed', { output: 'no such file' }))
    record.hear({ type: 'plan', entries: ['a'] })
    await settle()
    expect(await stored(here)).toHaveLength(3)
    record.hear(say('It is not there.'))
    const report = await record.end({ status: 'complete', stop: 'end_turn', usage: { input: 3, output: 2 } })
    expect(report).toMatchObject({ status: 'complete', saved: true, unsaved: [], head: recording.head })
    expect(await stored(here)).toEqual([
      'user: go',
      'assistant: Hm. | I look. | call a',
      'tool_result: result a',
      'assistant: It is not there.',
    ])
    const [turn] = await collectPages(page => here.store.listTurns(here.id, page))
    expect(turn).toMatchObject({ status: 'complete', usage: { input: 3, output: 2 } })
    const events = await collectPages(page => here.store.listEvents(here.id, page))
    const message = (await pathOf(here.store, report.head!))[1]!.id
    expect(events.map(({ type, data }) => ({ type, ...data }))).toEqual([
      { type: 'tool_started', call: 'a', name: 'read', turn: 'k', message },
      { type: 'plan', entries: ['a'] },
      { type: 'tool_ended', call: 'a', name: 'read', turn: 'k', message, isError: true },
      { type: 'turn_ended', stop: 'end_turn' },
    ])
    expect(effects.map(({ type }) => type).join(' ')).toBe(
      'draft draft message started message ended trace draft message',
    )
  })

  it('ends in the same transaction that stores its answer', async () => {
    const here = await place()
    const { record } = await begun(here, here.failing.store)
    record.hear(say('Done.'))
    here.failing.calls.length = 0
    await record.end({ status: 'complete', stop: 'end_turn', usage: { output: 1 } })
    expect(here.failing.calls).toEqual(['append', 'addEvents'])
    expect(await collectPages(page => here.store.listTurns(here.id, page))).toMatchObject([
      { status: 'complete', usage: { output: 1 } },
    ])
  })

  it.each(['interrupted', 'failed'] as const)(
    'keeps the text that has arrived when it is %s, and marks it',
    async status => {
      const here = await place()
      const { record } = await begun(here)
      record.hear(say('The answer'))
      record.hear(call('a', 'in_progress'))
      record.hear(say(' is for'))
      await record.end({ status, stop: null, usage: { output: 4 } })
      expect(await stored(here)).toEqual([
        'user: go',
        'assistant: The answer | call a',
        `assistant:  is for {"${status}":true}`,
      ])
      expect(await collectPages(page => here.store.listTurns(here.id, page))).toMatchObject([
        { status, usage: { output: 4 } },
      ])
    },
  )

  it('ends also without any updates', async () => {
    const here = await place()
    const { record } = await begun(here)
    expect(await record.end({ status: 'complete', stop: 'refusal', usage: { input: 1 } })).toMatchObject({
      saved: true,
    })
    expect(await stored(here)).toEqual(['user: go'])
    expect(await collectPages(page => here.store.listTurns(here.id, page))).toMatchObject([
      { status: 'complete', usage: { input: 1 } },
    ])
    record.hear(say('too late'))
    record.trace({ type: 'plan', data: {} })
    expect(await record.end({ status: 'failed', stop: null })).toMatchObject({ status: 'complete' })
    expect(await stored(here)).toEqual(['user: go'])
  })
})

describe('an announced call', () => {
  it('is stored a moment later, together with those that were announced meanwhile', async () => {
    const here = await place()
    const { record } = await begun(here)
    record.hear(call('a', 'pending'))
    await here.clock.advance(settleMs - 1)
    record.hear(call('b', 'pending'))
    expect(await stored(here)).toEqual(['user: go'])
    await here.clock.advance(1)
    expect(await stored(here)).toEqual(['user: go', 'assistant: call a | call b'])
    await record.end({ status: 'interrupted', stop: 'cancelled' })
    expect(here.clock.timers.all).toBe(0)
  })

  it('is stored before a permission is requested for it', async () => {
    const here = await place()
    const { record } = await begun(here)
    record.hear(call('a', 'pending'))
    record.settle()
    record.trace({ type: 'permission', data: { call: 'a' } })
    await settle()
    expect(await stored(here)).toEqual(['user: go', 'assistant: call a'])
    await record.end({ status: 'complete', stop: 'end_turn' })
    const types = (await collectPages(page => here.store.listEvents(here.id, page))).map(({ type }) => type)
    expect([...types].sort()).toEqual(['permission', 'tool_started', 'turn_ended'])
  })

  it('has the input that only its permission request names', async () => {
    const here = await place()
    const { record } = await begun(here)
    record.hear(call('a', 'pending', { input: {}, title: 'Shell' }))
    record.settle(
      callInPermission({ toolCall: { toolCallId: 'a', title: 'ls -l', rawInput: { command: 'ls' } } }),
    )
    record.settle(callInPermission({ toolCall: { toolCallId: 'unknown', title: 'never announced' } }))
    record.settle(callInPermission({ toolCall: 'nothing' }))
    record.hear(call('a', 'completed', { output: 'none' }))
    // Its call is stored before the request: then the result has the input.
    record.hear(call('b', 'pending', { input: {} }))
    record.settle()
    record.settle(callInPermission({ toolCall: { toolCallId: 'b', rawInput: { command: 'pwd' } } }))
    record.hear(call('b', 'completed', { output: '/' }))
    await record.end({ status: 'complete', stop: 'end_turn' })
    const { head } = await here.store.getBranch(here.branch)
    const blocks = (await pathOf(here.store, head!)).flatMap(({ content }) => content)
    expect(blocks.filter(({ type }) => type === 'tool_call')).toMatchObject([
      { callId: 'a', input: { command: 'ls' } },
      { callId: 'b', input: {} },
    ])
    const last = blocks.findLast(({ type }) => type === 'tool_result')
    expect(last?.metadata).toMatchObject({ acp: { input: { command: 'pwd' } } })
  })

  it('does not keep the process alive', async () => {
    const here = await place()
    const { record } = await begun(here)
    record.hear(call('a', 'pending'))
    expect(here.clock.timers.lively).toBe(0)
    await record.end({ status: 'complete', stop: null })
  })
})

describe('text that waits for a tool', () => {
  it('is drafted again after each message, so that a crash does not lose it', async () => {
    const here = await place()
    const { record } = await begun(here)
    record.hear(call('a', 'in_progress'))
    record.hear(say('meanwhile, '))
    await here.clock.advance(200)
    record.hear(call('b', 'completed'))
    record.hear(say('and more'))
    record.hear(call('a', 'completed'))
    await here.clock.advance(200)
    // The process dies: the next one ends the turn with the draft.
    const [turn] = await collectPages(page => here.store.listTurns(here.id, page))
    await here.store.endTurn(here.id, 'k', { status: 'interrupted', heldBy: turn!.holder! })
    expect(await stored(here)).toEqual([
      'user: go',
      'assistant: call a',
      'tool_result: result a',
      'assistant: meanwhile,  | call b',
      'tool_result: result b',
      'assistant: and more {"interrupted":true}',
    ])
  })
})

describe('storage that fails', () => {
  it('does not stop the recording, and everything is stored in order', async () => {
    const here = await place()
    const { record } = await begun(here, here.failing.store)
    here.failing.fate = method => (method === 'append' ? { before: new UnavailableError('away') } : null)
    record.hear(say('one'))
    record.hear(call('a', 'completed', { output: 'x' }))
    await here.clock.advance(300)
    record.hear(say('two'))
    expect(await stored(here)).toEqual(['user: go'])
    here.failing.heal()
    const ending = record.end({ status: 'complete', stop: 'end_turn' })
    await here.clock.advance(2_000)
    expect(await ending).toMatchObject({ saved: true, status: 'complete' })
    expect(await stored(here)).toEqual([
      'user: go',
      'assistant: one | call a',
      'tool_result: result a',
      'assistant: two',
    ])
  })

  it('is reported with the messages that were not saved', async () => {
    const here = await place()
    const { record } = await begun(here, here.failing.store)
    here.failing.fate = () => ({ before: new UnavailableError('away') })
    record.hear(say('one'))
    const ending = record.end({ status: 'complete', stop: 'end_turn' })
    await here.clock.advance(10_000)
    expect(await ending).toMatchObject({ saved: false, unsaved: [{ role: 'assistant' }] })
  })
})

describe('a message that cannot be stored', () => {
  it('is reported, and everything else is stored; a trace that cannot be stored is not a loss', async () => {
    const here = await place()
    const { record, troubles } = await begun(here)
    let deep: Json = 1
    for (let i = 0; i < 300; i++) deep = [deep]
    record.hear(call('a', 'completed', { output: deep }))
    record.hear({ type: 'plan', entries: deep })
    record.hear(say('Done.'))
    const report = await record.end({ status: 'complete', stop: 'end_turn' })
    expect(report).toMatchObject({ saved: false, unsaved: [{ role: 'tool_result' }] })
    expect(troubles.map(({ kind }) => kind)).toEqual(['lost'])
    expect(await stored(here)).toEqual(['user: go', 'assistant: call a', 'assistant: Done.'])
  })
})
