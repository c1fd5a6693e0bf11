import { expect, it } from 'vitest'
import { fit } from '../../../src/context/fit/fit.ts'
import { repair } from '../../../src/context/view/view.ts'
import type { Holder } from '../../../src/core/errors.ts'
import type { MessageId } from '../../../src/core/ids.ts'
import type { NewMessage, NonEmpty } from '../../../src/core/message.ts'
import { pathOf } from '../../../src/core/path.ts'
import { openStore } from '../../../src/stores/open.ts'
import { call, lines, result, text } from '../path.ts'

const holder: Holder = { host: 'h', boot: 'b', pid: 1, startedAt: 1 }

/** A conversation in a real store, in the middle of a turn that another process holds. */
async function midTurn() {
  const store = await openStore(':memory:')
  const { conversation, branch } = await store.create()
  let head: MessageId | null = null
  let step = 0
  const ids: MessageId[] = []
  return {
    store,
    ids,
    async add(...messages: NonEmpty<NewMessage>) {
      const turn = { key: 't', step: step++, status: 'open', holder } as const
      const appended = await store.append(branch, head, messages, { turn })
      head = appended.head
      ids.push(...appended.ids)
    },
    draft: (words: string) =>
      store.putDraft(conversation.id, 't', holder, [{ n: 0, type: 'text', text: words }]),
    async end(status: 'interrupted' | 'failed') {
      await store.endTurn(conversation.id, 't', { status, heldBy: holder })
      head = (await store.getBranch(branch)).head
    },
    path: () => pathOf(store, head!),
    [Symbol.asyncDispose]: () => store.close(),
  }
}

it('gives a call of a killed turn a synthetic result in the view, and stores nothing (R27)', async () => {
  await using talk = await midTurn()
  await talk.add({ role: 'user', content: 'delete it' })
  await talk.add({ role: 'assistant', content: [text('at once'), call('a')] })
  await talk.draft('It is de')
  await talk.end('interrupted')
  const path = await talk.path()
  expect(lines(repair(path))).toEqual([
    'user: delete it',
    'assistant: at once + call a',
    'tool_result: a = "[no result: interrupted, outcome unknown]"',
    'assistant: It is de',
  ])
  expect((await talk.path()).map(({ role }) => role)).toEqual(['user', 'assistant', 'assistant'])
  expect(fit(path, { limit: 1_000 }).messages).toHaveLength(4)
})

it('gives a call of a failed turn a result that says so (R27)', async () => {
  await using talk = await midTurn()
  await talk.add({ role: 'user', content: 'delete it' })
  await talk.add({ role: 'assistant', content: [call('a')] })
  await talk.draft('It is de')
  await talk.end('failed')
  const path = await talk.path()
  expect(lines(repair(path))).toEqual([
    'user: delete it',
    'assistant: call a',
    'tool_result: a = "[no result: the turn failed, outcome unknown]"',
    'assistant: It is de',
  ])
  expect(path.map(({ role, metadata: meta }) => [role, meta])).toEqual([
    ['user', null],
    ['assistant', null],
    ['assistant', { failed: true }],
  ])
})

it('keeps the position of erased messages, and their calls and results paired', async () => {
  await using talk = await midTurn()
  await talk.add({ role: 'user', content: 'my password is 1234' })
  await talk.add({ role: 'assistant', content: [call('a')] }, { role: 'tool_result', content: [result('a')] })
  await talk.add({ role: 'assistant', content: 'done' })
  await talk.store.eraseMessages([talk.ids[0]!, talk.ids[2]!], { by: 'me', reason: 'a secret' })
  expect(lines(fit(await talk.path(), { limit: 1_000 }).messages)).toEqual([
    'user: [erased]',
    'assistant: call a',
    'tool_result: a = "[no result: erased]"',
    'assistant: done',
  ])
})

it('uses token counts that the caller has stored', async () => {
  await using talk = await midTurn()
  await talk.add({ role: 'user', content: 'one', tokens: 700 })
  expect(fit(await talk.path(), { limit: 1_000 }).tokens.messages).toBe(700)
})
