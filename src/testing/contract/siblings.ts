import { strict as assert } from 'node:assert'
import { ConflictError, type NotFoundError } from '../../core/errors.ts'
import type { MessageId } from '../../core/ids.ts'
import { collectPages } from '../../core/pages.ts'
import { pathOf } from '../../core/path.ts'
import type { Appended, BranchInConversation, Store } from '../../core/ports.ts'
import {
  appendTexts,
  casesOf,
  holder,
  noMessage,
  rejects,
  said,
  say,
  startConversation,
  writers,
} from './build.ts'
import type { ContractCase } from './contract-case.ts'

const it = casesOf('siblings and races')
const sibling = { onConflict: 'fork' } as const
const at = (place: BranchInConversation | null) => place && [place.conversation.id, place.branch.name]

function split<T>(results: readonly PromiseSettledResult<T>[]): { won: T[]; lost: unknown[] } {
  const won: T[] = []
  const lost: unknown[] = []
  for (const result of results) {
    if (result.status === 'fulfilled') won.push(result.value)
    else lost.push(result.reason)
  }
  return { won, lost }
}

export const siblingCases: readonly ContractCase[] = [
  it('appends a lost race to a sibling branch that starts at the expected head (S3-2, R8)', async ({
    store,
  }) => {
    const { conversation, branch, ids } = await startConversation(store, { key: 'cli:default' })
    const made = await store.append(branch, ids[1], [say('late'), say('answer', 'assistant')], sibling)
    assert.equal(made.outcome, 'forked')
    assert.deepEqual(made.branch, { conversationId: conversation.id, name: 'main-2' })
    assert.equal(made.head, made.ids[1])
    assert.deepEqual(await said(store, made.branch), ['one', 'two', 'late', 'answer'])
    assert.deepEqual(await said(store, branch), ['one', 'two', 'three'])
    const beside = await store.getBranch(made.branch)
    assert.deepEqual([beside.head, beside.key], [made.head, null])
    assert.equal((await store.getBranch(branch)).key, 'cli:default')
    const after = await store.getConversation(conversation.id)
    assert.deepEqual([after.activeBranch, after.messages], ['main', 5])
    assert.ok(after.version > conversation.version)
  }),
  it('appends in place without a conflict, even if a sibling is allowed', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const made = await store.append(branch, ids[2], [say('four')], sibling)
    assert.deepEqual([made.outcome, made.branch.name], ['appended', 'main'])
    assert.equal((await collectPages(page => store.listBranches(conversation.id, page))).length, 1)
  }),
  it('moves a key to the written branch with the append', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store, { key: 'web:42' })
    const { id } = conversation
    const follow = { ...sibling, moveKey: 'web:42' }
    const found = async () => {
      const [byKey, { activeBranch }] = await Promise.all([
        store.findByKey('web:42'),
        store.getConversation(id),
      ])
      return [byKey?.branch.name, activeBranch]
    }
    // In place: the branch has the key already.
    const { head } = await store.append(branch, ids.at(-1)!, [say('on')], follow)
    assert.deepEqual(await found(), ['main', 'main'])
    await store.append(branch, ids[0], [say('edited')], follow)
    assert.deepEqual(await found(), ['main-2', 'main-2'])
    // Two forks of one branch: the key is taken from its holder, not from the branch that is forked.
    await store.append(branch, ids[0], [say('edited again')], follow)
    assert.deepEqual(await found(), ['main-3', 'main-3'])
    const [listed] = (await store.listConversations({ keyPrefix: 'web:' })).items
    assert.deepEqual([listed?.branch.name, listed?.branch.key], ['main-3', 'web:42'])
    // A return to the first version, without a fork.
    await store.append(branch, head, [say('back')], follow)
    assert.deepEqual(await found(), ['main', 'main'])
    // Without the option, and after a refusal, it stays.
    await store.append(branch, ids[0], [say('beside')], sibling)
    await rejects(store.append(branch, ids[0], [say('late')], { moveKey: 'web:42' }), 'conflict')
    assert.deepEqual(await found(), ['main', 'main'])
  }),
  it('moves no key of another conversation, from nowhere, or to a branch with a key', async ({ store }) => {
    const other = await startConversation(store, { key: 'other' })
    const { conversation, branch, ids } = await startConversation(store, { key: 'k' })
    const own = await store.createBranch(conversation.id, ids[0], { name: 'thread', key: 'thread' })
    await store.append(branch, ids.at(-1)!, [say('a')], { moveKey: 'other' })
    await store.append(own, own.head, [say('b')], { moveKey: 'k' })
    const fork = await store.append(branch, ids[0], [say('c')], { ...sibling, moveKey: 'unknown' })
    const names = async (key: string) => (await store.findByKey(key))?.branch.name
    assert.deepEqual([await names('k'), await names('thread')], ['main', 'thread'])
    assert.deepEqual(at(await store.findByKey('other')), at(other))
    assert.equal((await store.getBranch(fork.branch)).key, null)
    assert.equal((await store.getConversation(conversation.id)).activeBranch, 'main')
  }),
  it('replaces the active branch if no key is given and it is a sibling', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const active = async () => (await store.getConversation(conversation.id)).activeBranch
    await store.append(branch, ids[0], [say('edited')], { ...sibling, moveKey: null })
    assert.equal(await active(), 'main-2')
    const side = await store.createBranch(conversation.id, ids[0], { name: 'side' })
    await store.append(side, side.head, [say('elsewhere')], { moveKey: null })
    assert.equal(await active(), 'main-2')
    await store.append(branch, ids[0], [say('edited')], { ...sibling, moveKey: null })
    assert.equal(await active(), 'main-3')
  }),
  it(
    'gives a key to one of many forks at the same moment, and that one is active (R8)',
    async world => {
      const { store } = world
      const all = await writers(world)
      const { conversation, branch, ids } = await startConversation(store, { key: 'k' })
      const fork = (one: Store, i: number) =>
        one.append(branch, ids[0], [say(`writer ${i}`)], { ...sibling, moveKey: 'k' })
      const names = (await Promise.all(all.map(fork))).map(made => made.branch.name)
      const found = await store.findByKey('k')
      assert.ok(names.includes(found!.branch.name))
      assert.equal((await store.getConversation(conversation.id)).activeBranch, found!.branch.name)
      const branches = await collectPages(page => store.listBranches(conversation.id, page))
      assert.equal(branches.filter(({ key }) => key !== null).length, 1)
    },
    'second handle',
  ),
  it('numbers siblings and skips taken names', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    await store.createBranch(conversation.id, ids[0], { name: 'main-3' })
    const names: string[] = []
    for (const text of ['a', 'b', 'c']) {
      names.push((await store.append(branch, ids[0], [say(text)], sibling)).branch.name)
    }
    assert.deepEqual(names, ['main-2', 'main-4', 'main-5'])
  }),
  it('continues the number at the end of a name', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const second = await store.append(branch, ids[0], [say('a')], sibling)
    const third = await store.append(second.branch, ids[1], [say('b')], sibling)
    assert.deepEqual([second.branch.name, third.branch.name], ['main-2', 'main-3'])
    await store.createBranch(conversation.id, ids[2], { name: 'topic-9' })
    const ref = { conversationId: conversation.id, name: 'topic-9' }
    assert.equal((await store.append(ref, ids[0], [say('c')], sibling)).branch.name, 'topic-10')
  }),
  it('creates a sibling with its own root if the caller expected an empty branch (S3-31)', async ({
    store,
  }) => {
    const { branch } = await startConversation(store)
    const made = await store.append(branch, null, [say('another root')], sibling)
    assert.equal(made.outcome, 'forked')
    const [root] = await store.getMessages(made.ids)
    assert.deepEqual([root?.parentId, root?.depth, root?.seq], [null, 0, 3])
    assert.deepEqual(await said(store, made.branch), ['another root'])
  }),
  it('creates no sibling under a message of another conversation', async ({ store }) => {
    const { conversation, branch } = await startConversation(store)
    const other = await startConversation(store)
    for (const head of [other.ids[1], noMessage]) {
      const error = await rejects<NotFoundError>(
        store.append(branch, head, [say('astray')], sibling),
        'not_found',
      )
      assert.deepEqual([error.kind, error.id], ['message', head])
    }
    assert.equal((await store.getConversation(conversation.id)).version, conversation.version)
    assert.equal((await collectPages(page => store.listBranches(conversation.id, page))).length, 1)
  }),
  it("appends to a sibling during another's open turn, and holds the sibling if the new turn is open too", async ({
    store,
  }) => {
    const { branch, ids } = await startConversation(store)
    const mine = { key: 't1', step: 0, status: 'open', holder: holder(1) } as const
    const { head } = await store.append(branch, ids[2], [say('held')], { turn: mine })
    const yours = { key: 't2', step: 0, status: 'open', holder: holder(2) } as const
    const made = await store.append(branch, head, [say('beside')], { turn: yours, ...sibling })
    assert.deepEqual([made.outcome, made.branch.name], ['forked', 'main-2'])
    assert.deepEqual(await said(store, made.branch), ['one', 'two', 'three', 'held', 'beside'])
    await rejects(store.append(made.branch, made.head, [say('third')]), 'busy')
    const next = await store.append(made.branch, made.head, [say('answer', 'assistant')], {
      turn: { key: 't2', step: 1, holder: holder(2) },
    })
    assert.equal(next.outcome, 'appended')
    await rejects(store.append(branch, head, [say('main is still held')]), 'busy')
  }),
  it('replays a retry that went to a sibling, and creates no second one (P4)', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const options = { turn: { key: 't1', step: 0 }, ...sibling }
    const made = await store.append(branch, ids[0], [say('late')], options)
    const version = await store.versionOf(conversation.id)
    const again = await store.append(branch, ids[0], [say('late')], options)
    assert.deepEqual(again, { ...made, outcome: 'replayed' })
    assert.equal(await store.versionOf(conversation.id), version)
    assert.equal((await collectPages(page => store.listBranches(conversation.id, page))).length, 2)
  }),
  it(
    'shows an append to another handle at once (S3-77)',
    async world => {
      const { conversation, branch, ids } = await startConversation(world.store)
      const other = await world.second()
      assert.deepEqual(await said(other, branch), ['one', 'two', 'three'])
      const { head } = await appendTexts(other, branch, 'four')
      assert.equal((await world.store.getBranch(branch)).head, head)
      assert.deepEqual(await said(world.store, branch), ['one', 'two', 'three', 'four'])
      const error = await rejects<ConflictError>(world.store.append(branch, ids[2], [say('x')]), 'conflict')
      assert.equal(error.actual, head)
      assert.equal(
        await world.store.versionOf(conversation.id),
        (await other.getConversation(conversation.id)).version,
      )
    },
    'second handle',
  ),
  it(
    'lets exactly one of many writers on one head win, in every round (S3-77, S1-49, R8)',
    async world => {
      const all = await writers(world)
      const { conversation, branch } = await world.store.create()
      let head: MessageId | null = null
      for (let round = 0; round < 20; round++) {
        const expected: MessageId | null = head
        const race = (store: Store, i: number): Promise<Appended> =>
          store.append(branch, expected, [say(`${round}/${i}`), say('and more')])
        const { won, lost } = split(await Promise.allSettled(all.map(race)))
        assert.equal(won.length, 1, `round ${round}: ${won.length} winners`)
        for (const error of lost) {
          assert.ok(error instanceof ConflictError, String(error))
          assert.deepEqual([error.expected, error.actual], [expected, won[0]!.head])
        }
        head = won[0]!.head
      }
      const path = await pathOf(world.store, head!)
      assert.deepEqual(
        path.map(message => message.seq),
        Array.from({ length: 40 }, (_, i) => i),
      )
      assert.equal((await world.store.getConversation(conversation.id)).messages, 40)
    },
    'second handle',
  ),
  it(
    'loses no message of many writers that ask for siblings, and numbers the siblings without gaps (S3-77, R8)',
    async world => {
      const all = await writers(world)
      const { conversation, branch, ids } = await startConversation(world.store)
      const made: Appended[] = await Promise.all(
        all.map((store, i) => store.append(branch, ids[2], [say(`writer ${i}`)], sibling)),
      )
      assert.equal(made.filter(one => one.outcome === 'appended').length, 1)
      assert.equal(new Set(made.map(one => one.branch.name)).size, 8)
      const messages = await world.store.getMessages(made.map(one => one.head))
      const seqs = messages.map(message => message.seq)
      assert.deepEqual(
        seqs.sort((a, b) => a - b),
        [3, 4, 5, 6, 7, 8, 9, 10],
      )
      assert.ok(messages.every(message => message.parentId === ids[2]))
      assert.equal((await collectPages(page => world.store.listBranches(conversation.id, page))).length, 8)
    },
    'second handle',
  ),
  it(
    'stores a turn once if many writers use the same key at the same time (P4, R23)',
    async world => {
      const all = await writers(world)
      const { conversation, branch } = await world.store.create()
      let head: MessageId | null = null
      for (let round = 0; round < 10; round++) {
        const expected: MessageId | null = head
        const turn = { key: `turn ${round}`, step: 0 }
        const made: Appended[] = await Promise.all(
          all.map(store => store.append(branch, expected, [say('the same words')], { turn })),
        )
        assert.equal(made.filter(one => one.outcome === 'appended').length, 1)
        assert.equal(made.filter(one => one.outcome === 'replayed').length, 7)
        assert.equal(new Set(made.map(one => one.head)).size, 1)
        head = made[0]!.head
      }
      assert.equal((await world.store.getConversation(conversation.id)).messages, 10)
      assert.equal((await collectPages(page => world.store.listTurns(conversation.id, page))).length, 10)
    },
    'second handle',
  ),
]
