import { strict as assert } from 'node:assert'
import type { MessageId } from '../../core/ids.ts'
import { appendTexts, casesOf, noConversation, rejects, say, startConversation } from './build.ts'
import type { ContractCase } from './contract-case.ts'

const it = casesOf('measuring')
const quarter = 900_000

export const measuringCases: readonly ContractCase[] = [
  it('counts everything, recent activity and the trash', async ({ store, clock }) => {
    const old = await startConversation(store)
    clock.now += 86_400_000
    const since = new Date(clock.now)
    const { branch } = await startConversation(store)
    await appendTexts(store, branch, 'large '.repeat(10_000))
    const gone = await startConversation(store)
    await store.trash(gone.conversation.id)
    const measured = await store.measure(since)
    assert.deepEqual([measured.conversations, measured.messages, measured.trashed], [2, 7, 1])
    assert.deepEqual(measured.recent, { conversations: 1, messages: 4 })
    assert.deepEqual(measured.blobs, { count: 1, bytes: 60_000 })
    assert.ok(measured.sizes.length > 0 && measured.sizes.every(({ bytes }) => bytes >= 0))
    assert.ok(old.conversation.id)
  }),

  it('sums the bytes of a conversation, and counts a blob for each message that has it', async ({
    store,
  }) => {
    const { branch, conversation } = await store.create()
    assert.deepEqual(await store.measureConversation(conversation.id), { messages: 0, bytes: 0 })
    const { head } = await store.append(branch, null, [say('ä'.repeat(10))])
    const small = await store.measureConversation(conversation.id)
    const text = 'large '.repeat(10_000)
    const { head: next } = await store.append(branch, head, [say(text)])
    const large = await store.measureConversation(conversation.id)
    // The body is JSON, and names the blob.
    assert.ok(small.bytes >= 20 && small.bytes < 100, `${small.bytes}`)
    const added = large.bytes - small.bytes
    assert.ok(added > text.length && added < text.length + 200, `${added}`)
    await store.append(branch, next, [say(text)])
    const twice = await store.measureConversation(conversation.id)
    assert.deepEqual(twice, { messages: 3, bytes: large.bytes + added })
    await startConversation(store)
    assert.deepEqual(await store.measureConversation(conversation.id), twice)
    await store.trash(conversation.id)
    assert.deepEqual(await store.measureConversation(conversation.id), twice)
    await rejects(store.measureConversation(noConversation), 'not_found')
  }),

  it('sums the usage of turns by model and quarter of an hour, including the trash', async world => {
    const { store, clock } = world
    const { branch, conversation } = await store.create()
    let head: MessageId | null = null
    const turnOf = async (key: string, model: string | undefined, usage: object) => {
      const turn = { key, step: 0, usage, ...(model !== undefined && { model }) }
      const { head: next } = await store.append(branch, head, [say(key)], { turn })
      head = next
    }
    await turnOf('a', 'm', { input: 10, output: 1, cost: 0.5 })
    clock.now += quarter * 4
    const since = new Date(clock.now)
    await turnOf('b', 'm', { input: 20, output: 2 })
    await turnOf('c', 'm', { input: 30, output: 3, cost: 0.25 })
    await turnOf('d', undefined, {})
    clock.now += quarter
    await turnOf('e', 'n', { output: 4 })
    await store.trash(conversation.id)
    const at = Math.floor(since.getTime() / quarter)
    assert.deepEqual((await store.measure(since)).usage, [
      { model: 'm', quarter: null, turns: 1, input: 10, output: 1, cost: 0.5, uncosted: 0 },
      { model: null, quarter: at, turns: 1, input: 0, output: 0, cost: 0, uncosted: 0 },
      { model: 'm', quarter: at, turns: 2, input: 50, output: 5, cost: 0.25, uncosted: 22 },
      { model: 'n', quarter: at + 1, turns: 1, input: 0, output: 4, cost: 0, uncosted: 4 },
    ])
  }),
]
