import { strict as assert } from 'node:assert'
import { type BusyError, type NotFoundError, SkeinError } from '../../core/errors.ts'
import { sha256Hex } from '../../core/hash.ts'
import type { MessageId } from '../../core/ids.ts'
import { collectPages } from '../../core/pages.ts'
import { leaseMs } from '../../core/turn.ts'
import {
  appendTexts,
  casesOf,
  grow,
  holder,
  noConversation,
  noMessage,
  rejects,
  said,
  startConversation,
  writers,
} from './build.ts'
import type { ContractCase } from './contract-case.ts'

const it = casesOf('summaries')

function checksumOf(...ids: readonly MessageId[]): string {
  return sha256Hex(ids.map(id => `${id}\n`).join(''))
}

export const summariesCases: readonly ContractCase[] = [
  it('stores a summary with all its fields next to the messages (S2-39)', async world => {
    const { store, clock } = world
    const { conversation, branch, ids } = await startConversation(store)
    const range = { first: ids[0], last: ids[1] }
    assert.deepEqual(await store.claimSummary(conversation.id, range, holder()), { claimed: true })
    clock.now += 5_000
    const summary = await store.putSummary(conversation.id, {
      ...range,
      model: 'small',
      tokens: 7,
      text: 'they counted: 一 ✨',
      holder: holder(),
    })
    assert.deepEqual(summary, {
      conversationId: conversation.id,
      ...range,
      model: 'small',
      tokens: 7,
      text: 'they counted: 一 ✨',
      checksum: checksumOf(ids[0], ids[1]),
      createdAt: new Date(clock.now),
    })
    assert.deepEqual(await collectPages(page => store.listSummaries(conversation.id, page)), [summary])
    assert.deepEqual(await said(store, branch), ['one', 'two', 'three'])
    assert.ok((await store.versionOf(conversation.id)) > conversation.version)
  }),

  it('returns none at first, and none of another conversation', async ({ store }) => {
    const { conversation, ids } = await startConversation(store)
    const other = await startConversation(store)
    assert.deepEqual(await collectPages(page => store.listSummaries(conversation.id, page)), [])
    const range = { first: ids[0], last: ids[0] }
    await store.claimSummary(conversation.id, range, holder())
    await store.putSummary(conversation.id, { ...range, tokens: 1, text: 'x', holder: holder() })
    assert.deepEqual(await collectPages(page => store.listSummaries(other.conversation.id, page)), [])
    const error = await rejects<NotFoundError>(
      collectPages(page => store.listSummaries(noConversation, page)),
      'not_found',
    )
    assert.equal(error.kind, 'conversation')
  }),

  it('accepts a summary without a model', async ({ store }) => {
    const { conversation, ids } = await startConversation(store)
    const range = { first: ids[1], last: ids[1] }
    await store.claimSummary(conversation.id, range, holder())
    await store.putSummary(conversation.id, { ...range, tokens: 0, text: 'x', holder: holder() })
    const [summary] = await collectPages(page => store.listSummaries(conversation.id, page))
    assert.equal(summary?.model, null)
    assert.equal(summary?.tokens, 0)
    assert.equal(summary?.checksum, checksumOf(ids[1]))
  }),

  it('returns the stored summary to a later claim of the same range', async ({ store }) => {
    const { conversation, ids } = await startConversation(store)
    const range = { first: ids[0], last: ids[2] }
    await store.claimSummary(conversation.id, range, holder(1))
    const made = { ...range, tokens: 1, text: 'made once', holder: holder(1) }
    const summary = await store.putSummary(conversation.id, made)
    const version = await store.versionOf(conversation.id)
    for (const who of [holder(1), holder(2)]) {
      const claim = await store.claimSummary(conversation.id, range, who)
      assert.deepEqual(claim, { claimed: false, summary })
    }
    assert.equal(await store.versionOf(conversation.id), version)
    await rejects(store.putSummary(conversation.id, { ...made, text: 'made twice' }), 'expired')
    assert.deepEqual(await collectPages(page => store.listSummaries(conversation.id, page)), [summary])
  }),

  it('holds a range for 30 seconds and names the holder to others', async world => {
    const { store, clock } = world
    const { conversation, ids } = await startConversation(store)
    const range = { first: ids[0], last: ids[1] }
    const until = new Date(clock.now + leaseMs)
    await store.claimSummary(conversation.id, range, holder(1))
    clock.now += leaseMs - 1
    const error = await rejects<BusyError>(store.claimSummary(conversation.id, range, holder(2)), 'busy')
    assert.deepEqual(error.holder, holder(1))
    assert.deepEqual(error.leaseUntil, until)
  }),

  it('gives the range to another process after the lease has expired', async ({ store, clock }) => {
    const { conversation, ids } = await startConversation(store)
    const range = { first: ids[0], last: ids[1] }
    await store.claimSummary(conversation.id, range, holder(1))
    clock.now += leaseMs + 1
    const late = { ...range, tokens: 1, text: 'late', holder: holder(1) }
    await rejects(store.putSummary(conversation.id, late), 'expired')
    assert.deepEqual(await store.claimSummary(conversation.id, range, holder(2)), { claimed: true })
    await rejects(store.putSummary(conversation.id, late), 'expired')
    await rejects(store.claimSummary(conversation.id, range, holder(1)), 'busy')
    await store.putSummary(conversation.id, { ...late, text: 'in time', holder: holder(2) })
    const stored = await collectPages(page => store.listSummaries(conversation.id, page))
    assert.deepEqual(
      stored.map(summary => summary.text),
      ['in time'],
    )
  }),

  it('lets the holder claim again, which renews its lease', async ({ store, clock }) => {
    const { conversation, ids } = await startConversation(store)
    const range = { first: ids[0], last: ids[1] }
    await store.claimSummary(conversation.id, range, holder(1))
    clock.now += 20_000
    assert.deepEqual(await store.claimSummary(conversation.id, range, holder(1)), { claimed: true })
    clock.now += 20_000
    await rejects(store.claimSummary(conversation.id, range, holder(2)), 'busy')
    await store.putSummary(conversation.id, { ...range, tokens: 1, text: 'x', holder: holder(1) })
    assert.equal((await collectPages(page => store.listSummaries(conversation.id, page))).length, 1)
  }),

  it('compares all fields of a holder', async ({ store }) => {
    const { conversation, ids } = await startConversation(store)
    const range = { first: ids[0], last: ids[1] }
    const who = holder(1)
    await store.claimSummary(conversation.id, range, who)
    for (const other of [
      { ...who, host: 'elsewhere' },
      { ...who, boot: 'boot-2' },
      { ...who, pid: 2 },
      { ...who, startedAt: 2_000 },
    ]) {
      await rejects(store.claimSummary(conversation.id, range, other), 'busy')
      const attempt = { ...range, tokens: 1, text: 'x', holder: other }
      await rejects(store.putSummary(conversation.id, attempt), 'expired')
    }
  }),

  it('refuses a summary of an unclaimed range', async ({ store }) => {
    const { conversation, ids } = await startConversation(store)
    const summary = { first: ids[0], last: ids[1], tokens: 1, text: 'x', holder: holder() }
    await rejects(store.putSummary(conversation.id, summary), 'expired')
    await store.claimSummary(conversation.id, { first: ids[0], last: ids[2] }, holder())
    await rejects(store.putSummary(conversation.id, summary), 'expired')
    assert.deepEqual(await collectPages(page => store.listSummaries(conversation.id, page)), [])
  }),

  it('allows several ranges at the same time and keeps all summaries', async ({ store }) => {
    const { conversation, ids } = await startConversation(store)
    const ranges = [
      { first: ids[0], last: ids[1] },
      { first: ids[0], last: ids[2] },
      { first: ids[2], last: ids[2] },
    ]
    for (const [i, range] of ranges.entries()) {
      assert.deepEqual(await store.claimSummary(conversation.id, range, holder(i)), { claimed: true })
    }
    for (const [i, range] of ranges.entries()) {
      await store.putSummary(conversation.id, { ...range, tokens: i, text: `s${i}`, holder: holder(i) })
    }
    const stored = await collectPages(page => store.listSummaries(conversation.id, page))
    assert.deepEqual(
      new Map(stored.map(summary => [summary.text, [summary.first, summary.last]])),
      new Map(ranges.map(({ first, last }, i) => [`s${i}`, [first, last]])),
    )
    const { id } = conversation
    assert.deepEqual(
      (await store.listSummaries(id, { order: 'descending', limit: 2 })).items,
      stored.slice(1).reverse(),
    )
    assert.deepEqual((await store.listSummaries(id, { limit: 100 })).items, stored)
    await store.claimSummary(id, { first: ids[1], last: ids[2] }, holder())
    assert.deepEqual(
      (await store.listSummaries(id, { order: 'descending', limit: 1 })).items,
      stored.slice(2),
    )
    await rejects(store.listSummaries(id, { limit: 0 }), 'invalid')
  }),

  it('covers the path between the ends, not the seqs between them', async ({ store }) => {
    const { conversation } = await store.create()
    const ids = await grow(store, conversation.id, { a: null, x: 'a', b: 'a', y: 'x', c: 'b', d: 'c' })
    const range = { first: ids.a, last: ids.c }
    await store.claimSummary(conversation.id, range, holder())
    const made = { ...range, tokens: 1, text: 'x', holder: holder() }
    const summary = await store.putSummary(conversation.id, made)
    assert.equal(summary.checksum, checksumOf(ids.a, ids.b, ids.c))
  }),

  it('covers a long range in the middle of a path', async ({ store }) => {
    const { conversation, branch } = await store.create()
    const lines = Array.from({ length: 700 }, (_, i) => `m${i}`)
    const { ids } = await appendTexts(store, branch, ...lines)
    const range = { first: ids[50]!, last: ids[649]! }
    await store.claimSummary(conversation.id, range, holder())
    const made = { ...range, tokens: 1, text: 'x', holder: holder() }
    const summary = await store.putSummary(conversation.id, made)
    assert.equal(summary.checksum, checksumOf(...ids.slice(50, 650)))
  }),

  it('refuses a range that is not part of a path', async ({ store }) => {
    const { conversation } = await store.create()
    const other = await startConversation(store)
    const ids = await grow(store, conversation.id, { a: null, left: 'a', right: 'a', root: null })
    const { id } = conversation
    for (const [first, last] of [
      [ids.left, ids.a],
      [ids.left, ids.right],
      [ids.a, ids.root],
      ['nonsense' as MessageId, ids.a],
    ] as const) {
      await rejects(store.claimSummary(id, { first, last }, holder()), 'invalid')
    }
    for (const [first, last] of [
      [ids.a, noMessage],
      [noMessage, ids.a],
      [other.ids[0], other.ids[1]],
    ] as const) {
      const error = await rejects<NotFoundError>(
        store.claimSummary(id, { first, last }, holder()),
        'not_found',
      )
      assert.equal(error.kind, 'message')
    }
    const range = { first: ids.a, last: ids.left }
    const error = await rejects<NotFoundError>(
      store.claimSummary(noConversation, range, holder()),
      'not_found',
    )
    assert.equal(error.kind, 'conversation')
  }),

  it('refuses an invalid summary and keeps the claim', async ({ store }) => {
    const { conversation, ids } = await startConversation(store)
    const range = { first: ids[0], last: ids[1] }
    await store.claimSummary(conversation.id, range, holder())
    const good = { ...range, tokens: 1, text: 'x', holder: holder() }
    await rejects(store.putSummary(conversation.id, { ...good, tokens: -1 }), 'invalid')
    await rejects(store.putSummary(conversation.id, { ...good, tokens: 1.5 }), 'invalid')
    await rejects(store.putSummary(conversation.id, { ...good, text: 7 as never }), 'invalid')
    assert.deepEqual(await collectPages(page => store.listSummaries(conversation.id, page)), [])
    await store.putSummary(conversation.id, good)
    assert.equal((await collectPages(page => store.listSummaries(conversation.id, page))).length, 1)
  }),

  it(
    'lets exactly one of eight racing writers make the summary, in every round',
    async world => {
      const { store } = world
      const { conversation, branch } = await store.create()
      const { id } = conversation
      const racers = await writers(world)
      for (let round = 0; round < 20; round++) {
        const { head } = await appendTexts(store, branch, `round ${round}`)
        const range = { first: head, last: head }
        const outcomes = await Promise.all(
          racers.map(async (handle, i) => {
            try {
              const claim = await handle.claimSummary(id, range, holder(i))
              if (!claim.claimed) return 'reused'
              await handle.putSummary(id, { ...range, tokens: 1, text: `by ${i}`, holder: holder(i) })
              return 'made'
            } catch (error) {
              if (error instanceof SkeinError && error.code === 'busy') return 'busy'
              throw error
            }
          }),
        )
        assert.equal(outcomes.filter(outcome => outcome === 'made').length, 1, outcomes.join())
      }
      assert.equal((await collectPages(page => store.listSummaries(id, page))).length, 20)
      assert.deepEqual(
        await collectPages(page => racers[1]!.listSummaries(id, page)),
        await collectPages(page => store.listSummaries(id, page)),
      )
    },
    'second handle',
  ),
]
