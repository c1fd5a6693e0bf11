import { strict as assert } from 'node:assert'
import type { MessageId } from '../../core/ids.ts'
import type { Page, PageOptions } from '../../core/listing.ts'
import { collectPages } from '../../core/pages.ts'
import { pathOf } from '../../core/path.ts'
import type { Store } from '../../core/ports.ts'
import { casesOf, holder, rejects, say } from './build.ts'
import type { ContractCase } from './contract-case.ts'

const it = casesOf('pages')

type Listing = (page: PageOptions & { readonly order?: 'ascending' | 'descending' }) => Promise<Page<unknown>>

/** A conversation with seven of everything that is listed, and each list. */
async function sevenOfEach(store: Store): Promise<Record<string, Listing>> {
  const { conversation, branch } = await store.create()
  const { id } = conversation
  const ids: MessageId[] = []
  for (let n = 0; n < 7; n++) {
    const turn = { key: `t${n}`, step: 0, status: 'complete' } as const
    const appended = await store.append(branch, ids.at(-1) ?? null, [say(`message ${n}`)], { turn })
    ids.push(appended.head)
  }
  for (let n = 0; n < 6; n++) await store.createBranch(id, ids[n]!, { name: `b${n}` })
  for (let n = 0; n < 6; n++) {
    await store.append({ conversationId: id, name: `b${n}` }, ids[n]!, [say(`beside ${n}`)])
  }
  for (let n = 0; n < 7; n++) {
    await store.setAgentLink(branch, { agent: 'agent', directory: `/${n}`, foreignId: `f${n}`, seen: null })
    const range = { first: ids[0]!, last: ids[n]! }
    await store.claimSummary(id, range, holder())
    await store.putSummary(id, { ...range, tokens: 1, text: `summary ${n}`, holder: holder() })
    await store.addEvents(id, [{ type: 'plan', data: { n } }])
  }
  const open = { key: 'open', step: 0, status: 'open', holder: holder() } as const
  await store.append(branch, ids.at(-1)!, [say('open')], { turn: open })
  for (let n = 0; n < 7; n++) {
    await store.putDraft(id, 'open', holder(), [{ n, type: 'text', text: `piece ${n}` }])
  }
  return {
    listBranches: page => store.listBranches(id, page),
    listAgentLinks: page => store.listAgentLinks(branch, page),
    listPath: page => store.listPath(ids.at(-1)!, page),
    listStretches: page => store.listStretches(id, page),
    listTurns: page => store.listTurns(id, page),
    readDraft: page => store.readDraft(id, 'open', page),
    listSummaries: page => store.listSummaries(id, page),
    listEvents: page => store.listEvents(id, page),
  }
}

async function readInPagesOf(
  limit: number,
  list: Listing,
  order?: 'descending',
): Promise<readonly unknown[]> {
  const read: unknown[] = []
  for (let after: string | null | undefined; after !== null; ) {
    const page = await list({ limit, ...(order && { order }), ...(after && { after }) })
    assert.ok(page.items.length <= limit, 'a page holds no more than its limit')
    assert.ok(page.items.length > 0 || page.next === null, 'only the last page may be empty')
    read.push(...page.items)
    after = page.next
  }
  return read
}

export const pageCases: readonly ContractCase[] = [
  it('of every list hold each item once, in order, whatever their size', async ({ store }) => {
    for (const [name, list] of Object.entries(await sevenOfEach(store))) {
      const { items, next } = await list({})
      assert.ok(items.length >= 7, `${name} has seven items`)
      assert.equal(next, null)
      for (const size of [1, 2, 3, items.length, items.length + 1])
        assert.deepEqual(await readInPagesOf(size, list), items, `${name} in pages of ${size}`)
    }
  }),

  it('can be read from the other end, where a list has an order', async ({ store }) => {
    const lists = await sevenOfEach(store)
    for (const name of ['listTurns', 'listSummaries', 'listEvents']) {
      const { items } = await lists[name]!({})
      for (const size of [1, 3, 100])
        assert.deepEqual(await readInPagesOf(size, lists[name]!, 'descending'), items.toReversed(), name)
    }
  }),

  it('refuse a limit that is not a count, and a text that is not their cursor', async ({ store }) => {
    for (const list of Object.values(await sevenOfEach(store))) {
      for (const limit of [0, -1, 1.5, Number.NaN, 10_001]) await rejects(list({ limit }), 'invalid')
      const other = Buffer.from(JSON.stringify(['\u0000', '\ud800', 2 ** 40])).toString('base64url')
      for (const after of ['', 'no cursor', other, 7 as unknown as string])
        await rejects(list({ after }), 'invalid')
    }
  }),

  it('of a path on a branch hold the path of that branch only', async ({ store }) => {
    const { branch } = await store.create()
    const main = await store.append(branch, null, ['a', 'b', 'c', 'd'].map(text => say(text)) as never)
    const fork = await store.createBranch(branch.conversationId, main.ids[1]!, { name: 'fork' })
    const beside = await store.append(fork, main.ids[1]!, [say('e'), say('f'), say('g')])
    await store.append(branch, main.head, [say('h')])
    const after = await store.append(fork, beside.head, [say('i')])
    const whole = await pathOf(store, after.head)
    assert.deepEqual(
      whole.map(({ id }) => id),
      [...main.ids.slice(0, 2), ...beside.ids, after.head],
    )
    for (const limit of [1, 2, 4, 5])
      assert.deepEqual(
        await collectPages(page => store.listPath(after.head, { ...page, limit })),
        whole,
        `in pages of ${limit}`,
      )
    for (const fromDepth of [0, 1, 2, 4, 5, 6])
      for (const limit of [1, 2, 100])
        assert.deepEqual(
          await collectPages(page => store.listPath(after.head, { ...page, limit, fromDepth })),
          whole.slice(fromDepth),
          `from depth ${fromDepth} in pages of ${limit}`,
        )
    await rejects(store.listPath(after.head, { fromDepth: -1 }), 'invalid')
  }),

  it('of the turns with a status hold these only, in both orders', async ({ store }) => {
    const { conversation, branch } = await store.create()
    const { id } = conversation
    // Keys in another order than the turns.
    const statuses = [
      'failed',
      'complete',
      'interrupted',
      'complete',
      'failed',
      'interrupted',
      'failed',
    ] as const
    let head: MessageId | null = null
    for (const [n, status] of statuses.entries()) {
      const turn = { key: `t${9 - n}`, step: 0, status }
      head = (await store.append(branch, head, [say(`${n}`), say('and')], { turn })).head
    }
    for (const name of ['x', 'y', 'z']) {
      const fork = await store.createBranch(id, head!, { name })
      const turn = { key: name, step: 0, status: 'open', holder: holder() } as const
      await store.append(fork, head, [say(name)], { turn })
    }
    const every = (await store.listTurns(id)).items
    assert.deepEqual(
      every.map(turn => turn.status),
      [...statuses, 'open', 'open', 'open'],
    )
    for (const status of ['failed', 'complete', 'interrupted', 'open'] as const) {
      const expected = every.filter(turn => turn.status === status)
      const list: Listing = page => store.listTurns(id, { ...page, status })
      for (const size of [1, 2, 100]) {
        assert.deepEqual(await readInPagesOf(size, list), expected, status)
        assert.deepEqual(await readInPagesOf(size, list, 'descending'), expected.toReversed(), status)
      }
    }
  }),

  it('hold the turns that begin with given messages, in the same order and pages', async ({ store }) => {
    const { conversation, branch } = await store.create()
    const { id } = conversation
    let head: MessageId | null = null
    for (const [n, status] of (['complete', 'failed', 'complete', 'complete'] as const).entries()) {
      const turn = { key: `t${n}`, step: 0, status }
      head = (await store.append(branch, head, [say(`${n}`), say('and')], { turn })).head
    }
    const other = await store.create()
    const elsewhere = { turn: { key: 'elsewhere', step: 0, status: 'complete' } } as const
    await store.append(other.branch, null, [say('elsewhere')], elsewhere)
    const every = (await store.listTurns(id)).items
    const firsts = [6, 0, 2, 0, 3, 99, 2 ** 31 - 1]
    const expected = every.filter(({ first }) => [0, 2, 6].includes(first))
    assert.equal(expected.length, 3)
    const list: Listing = page => store.listTurns(id, { ...page, firsts })
    for (const size of [1, 2, 3, 100]) {
      assert.deepEqual(await readInPagesOf(size, list), expected)
      assert.deepEqual(await readInPagesOf(size, list, 'descending'), expected.toReversed())
    }
    const failed = await store.listTurns(id, { firsts, status: 'failed' })
    assert.deepEqual(failed.items, [every[1]])
    assert.deepEqual((await store.listTurns(id, { firsts: [] })).items, [])
    for (const wrong of [[-1], [0.5], ['0'], [2 ** 31], 7, null])
      await rejects(store.listTurns(id, { firsts: wrong as never }), 'invalid')
  }),

  it('find a turn by its key, without reading the others', async ({ store }) => {
    const { conversation, branch } = await store.create()
    await store.append(branch, null, [say('a')], { turn: { key: 'k', step: 0, status: 'complete' } })
    const [turn] = (await store.listTurns(conversation.id)).items
    assert.deepEqual(await store.findTurn(conversation.id, 'k'), turn)
    assert.equal(await store.findTurn(conversation.id, 'other'), null)
  }),
]
