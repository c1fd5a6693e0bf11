import { strict as assert } from 'node:assert'
import { textOf } from '../../core/message.ts'
import { pathOf } from '../../core/path.ts'
import type { PathSectionOptions } from '../../core/path-section.ts'
import type { Store } from '../../core/ports.ts'
import { casesOf, grow, holder, interleave, noMessage, rejects, say, texts } from './build.ts'
import type { ContractCase } from './contract-case.ts'

const it = casesOf('path sections')

/** A path of messages 0, 1, 2 … */
async function numbered(store: Store, count: number) {
  const { conversation, branch } = await store.create()
  const messages = Array.from({ length: count }, (_, n) => say(`${n}`, n % 2 === 0 ? 'user' : 'assistant'))
  return { id: conversation.id, ...(await store.append(branch, null, messages)) }
}

/** An assistant's message with calls of a tool. */
function calling(...callIds: readonly string[]) {
  const content = callIds.map(callId => ({ type: 'tool_call', callId, name: 'look', input: {} }) as const)
  return { role: 'assistant', content } as const
}

export const pathSectionCases: readonly ContractCase[] = [
  it('reads a section by depth, the end of the path by default', async ({ store }) => {
    const { head } = await numbered(store, 10)
    const read = async (options: PathSectionOptions) =>
      texts((await store.readPathSection(head, options)).messages).join('')
    assert.equal(await read({}), '0123456789')
    assert.equal(await read({ limit: 3 }), '789')
    assert.equal(await read({ limit: 3, before: 7 }), '456')
    assert.equal(await read({ limit: 3, before: 2 }), '01')
    assert.equal(await read({ limit: 3, before: 99 }), '789')
    assert.equal(await read({ limit: 3, from: 0 }), '012')
    assert.equal(await read({ limit: 3, from: 8 }), '89')
    assert.equal(await read({ from: 2, before: 5 }), '234')
    assert.equal(await read({ from: 2, before: 9, limit: 2 }), '23')
    assert.equal(await read({ from: 10 }), '')
    assert.equal(await read({ from: 5, before: 5 }), '')
    assert.equal(await read({ before: 0 }), '')
    assert.equal((await store.readPathSection(head, { from: 10 })).pathMessages, 10)
    for (const bad of [{ limit: 0 }, { limit: 1_001 }, { from: -1 }, { before: 0.5 }])
      await rejects(store.readPathSection(head, bad), 'invalid')
    await rejects(store.readPathSection(noMessage), 'not_found')
  }),
  it('returns the same messages as the whole path, on interleaved branches too', async ({ store }) => {
    const { main, side } = await interleave(store)
    for (const { head } of [main, side]) {
      const path = await pathOf(store, head!)
      for (let from = 0; from <= path.length; from++) {
        for (let before = from; before <= path.length; before++) {
          const section = await store.readPathSection(head!, { from, before })
          assert.deepEqual(section.messages, path.slice(from, before))
          assert.equal(section.pathMessages, path.length)
        }
      }
    }
  }),
  it('names the siblings of each message that has any, in the order of storing', async ({ store }) => {
    const { conversation } = await store.create()
    const ids = await grow(store, conversation.id, {
      root: null,
      a: 'root',
      b: 'root',
      a1: 'a',
      other: null,
      c: 'root',
      a2: 'a1',
    })
    const { siblings } = await store.readPathSection(ids.a2)
    assert.deepEqual(siblings, [
      { messageId: ids.root, siblings: [ids.root, ids.other] },
      { messageId: ids.a, siblings: [ids.a, ids.b, ids.c] },
    ])
    assert.deepEqual((await store.readPathSection(ids.c, { from: 1 })).siblings, [
      { messageId: ids.c, siblings: [ids.a, ids.b, ids.c] },
    ])
    assert.deepEqual((await store.readPathSection(ids.a2, { from: 2 })).siblings, [])
    await store.deleteMessages([ids.b, ids.c, ids.other])
    assert.deepEqual((await store.readPathSection(ids.a2)).siblings, [])
  }),
  it('names at most 100 siblings, and the message itself', async ({ store }) => {
    const { conversation } = await store.create()
    const [root] = await store.save(conversation.id, [{ message: say('root'), parent: null }])
    const items = Array.from({ length: 150 }, (_, n) => ({ message: say(`${n}`), parent: root }))
    const ids = await store.save(conversation.id, items)
    const [early] = (await store.readPathSection(ids[3]!, { from: 1 })).siblings
    assert.deepEqual(early?.siblings, ids.slice(0, 100))
    const [late] = (await store.readPathSection(ids[140]!, { from: 1 })).siblings
    assert.deepEqual(late?.siblings, [...ids.slice(0, 99), ids[140]])
  }),
  it('returns the turns of the section, and leaves out open turns if asked', async ({ store }) => {
    const { id, branch, head } = await numbered(store, 2)
    const one = await store.append(branch, head, [say('q'), say('a', 'assistant')], {
      turn: { key: 'one', step: 0 },
    })
    const two = await store.append(branch, one.head, [say('q2')], {
      turn: { key: 'two', step: 0, status: 'open', holder: holder() },
    })
    const section = await store.readPathSection(two.head)
    assert.deepEqual(section.turns, [await store.findTurn(id, 'one'), await store.findTurn(id, 'two')])
    assert.deepEqual(
      section.turns.map(turn => turn.first),
      [2, 4],
    )
    assert.deepEqual((await store.readPathSection(two.head, { before: 2 })).turns, [])
    assert.deepEqual(
      (await store.readPathSection(two.head, { limit: 2 })).turns.map(turn => turn.key),
      ['one', 'two'],
    )
    const whole = await store.readPathSection(two.head, { wholeTurns: true })
    assert.deepEqual(texts(whole.messages), ['0', '1', 'q', 'a'])
    assert.deepEqual([whole.pathMessages, whole.turns.length], [5, 1])
  }),
  it('says when the tools of the section ran', async ({ store, clock }) => {
    const { conversation, branch } = await store.create()
    const asked = await store.append(branch, null, [say('q'), calling('c1', 'c2')])
    const call = { turn: 't', name: 'look', message: asked.head }
    const at = (ms: number) => new Date(clock.now + ms)
    await store.addEvents(conversation.id, [
      { type: 'tool_started', createdAt: at(10), data: { call: 'c1', ...call } },
      { type: 'tool_started', createdAt: at(11), data: { call: 'c2', ...call, note: '\u0000' } },
      { type: 'plan', createdAt: at(12), data: { call: 'c1', ...call } },
      { type: 'tool_ended', createdAt: at(40), data: { call: 'c1', ...call, isError: false } },
    ])
    const later = await store.append(branch, asked.head, [calling('c1')])
    await store.addEvents(conversation.id, [
      // Without the message: another recorder.
      { type: 'tool_started', createdAt: at(50), data: { callId: 'c1', message: null } },
      { type: 'tool_ended', createdAt: at(60), data: { callId: 'c1', message: null } },
    ])
    const [messageId] = [asked.head]
    assert.deepEqual((await store.readPathSection(later.head, { before: 2 })).toolTimes, [
      { messageId, callId: 'c1', startedAt: at(10), endedAt: at(40) },
      { messageId, callId: 'c2', startedAt: at(11), endedAt: null },
      { messageId: null, callId: 'c1', startedAt: at(50), endedAt: at(60) },
    ])
    assert.deepEqual((await store.readPathSection(later.head, { from: 2 })).toolTimes, [
      { messageId: null, callId: 'c1', startedAt: at(50), endedAt: at(60) },
    ])
    assert.deepEqual((await store.readPathSection(later.head, { before: 1 })).toolTimes, [])
  }),
  it('does not take the tool times of another conversation', async ({ store }) => {
    for (const name of ['one', 'two']) {
      const { conversation, branch } = await store.create()
      const { head } = await store.append(branch, null, [say(name), calling('c1')])
      assert.deepEqual((await store.readPathSection(head)).toolTimes, [])
      await store.addEvents(conversation.id, [{ type: 'tool_started', data: { call: 'c1', message: null } }])
      assert.equal((await store.readPathSection(head)).toolTimes.length, 1)
    }
  }),
  it('returns previews of blobs if asked', async ({ store }) => {
    const { branch } = await store.create()
    const { head } = await store.append(branch, null, [say('x'.repeat(50_000))])
    const [whole] = (await store.readPathSection(head)).messages
    const [preview] = (await store.readPathSection(head, { blobs: 'preview' })).messages
    assert.equal(textOf(whole!).length, 50_000)
    assert.ok(textOf(preview!).length < 2_000)
  }),
]
