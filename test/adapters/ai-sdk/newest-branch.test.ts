import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { generateText, type ModelMessage } from 'ai'
import { describe, expect, it } from 'vitest'
import { recordTo } from '../../../src/adapters/ai-sdk/record-to.ts'
import type { BranchRef } from '../../../src/core/branch.ts'
import { openStore } from '../../../src/stores/open.ts'
import { engines, freshTarget } from '../../recorder/engines.ts'
import { said, setUp } from './setting.ts'

const user = (content: string): ModelMessage => ({ role: 'user', content })
const assistant = (content: string): ModelMessage => ({ role: 'assistant', content })

/** Where lookups and lists find the conversation. */
async function shown(store: Awaited<ReturnType<typeof setUp>>['store'], ref: BranchRef) {
  const { activeBranch } = await store.getConversation(ref.conversationId)
  const [listed] = (await store.listConversations()).items
  const byKey = await store.findByKey('web:42')
  const resolved = await store.resolve('web:42')
  return [activeBranch, listed!.branch.name, byKey!.branch.name, resolved.branch.name]
}

it.each(['by its key', 'by its branch'] as const)(
  'shows the branch of the newest call by key and in lists, after regenerate, edit and return: %s',
  async how => {
    const { store, model } = await setUp('one', 'two', 'three', 'four')
    const { branch } = await store.create({ key: 'web:42' })
    const where = how === 'by its key' ? 'web:42' : branch
    const ask = async (...messages: ModelMessage[]) => {
      // A server makes a recorder for each request.
      const recorded = recordTo(store, where)
      await generateText({ model: recorded(model()), messages })
      const place = await recorded.place()
      expect(await shown(store, place)).toEqual(Array(4).fill(place.name))
      expect(await recorded.messages()).toEqual(await recordTo(store, where).messages())
      return said(store, place)
    }
    expect(await ask(user('q'))).toEqual(['user: q', 'assistant: one'])
    // The same question again: another answer.
    expect(await ask(user('q'))).toEqual(['user: q', 'assistant: two'])
    expect(await ask(user('edited'))).toEqual(['user: edited', 'assistant: three'])
    expect(await ask(user('q'), assistant('one'), user('back'))).toEqual([
      'user: q',
      'assistant: one',
      'user: back',
      'assistant: four',
    ])
    expect((await store.findByKey('web:42'))?.branch.name).toBe('main')
  },
)

it('leaves the key of another branch alone', async () => {
  const { store, model } = await setUp('one', 'two')
  const { conversation } = await store.create({ key: 'web:42' })
  const side = await store.createBranch(conversation.id, null, { name: 'thread', key: 'thread' })
  const recorded = recordTo(store, side)
  await generateText({ model: recorded(model()), messages: [user('q')] })
  await generateText({ model: recorded(model()), messages: [user('Q')] })
  expect((await store.findByKey('thread'))?.branch.name).toBe('thread-2')
  expect((await store.findByKey('web:42'))?.branch.name).toBe('main')
  expect((await store.getConversation(conversation.id)).activeBranch).toBe('main')
})

describe.each(engines)(
  'a process that is killed right after its first append to a sibling, on %s',
  engine => {
    it.each(['edit', 'regenerate'])('leaves a key that shows the sibling: %s', async how => {
      const target = await freshTarget(engine)
      const program = fileURLToPath(new URL('regenerating.ts', import.meta.url))
      const [, signal] = await once(fork(program, [target, how], { execArgv: [] }), 'exit')
      expect(signal).toBe('SIGKILL')
      await using store = await openStore(target)
      const { conversation, branch } = (await store.findByKey('web:42'))!
      expect([branch.name, conversation.activeBranch]).toEqual(['main-2', 'main-2'])
      expect(await said(store, branch)).toEqual(
        how === 'edit' ? ['user: edited'] : ['user: q', 'assistant: an answer'],
      )
    })
  },
)
