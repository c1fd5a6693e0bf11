import { strict as assert } from 'node:assert'
import { sha256Hex } from '../../core/hash.ts'
import { collectPages } from '../../core/pages.ts'
import type { StoreRecord } from '../../core/record.ts'
import {
  appendTexts,
  casesOf,
  holder,
  noMessage,
  said,
  say,
  startConversation,
  summarise,
  writers,
} from './build.ts'
import type { ContractCase } from './contract-case.ts'
import { allOf, fill, forget, one, recordsOf, write, writeAll } from './records-build.ts'

const it = casesOf('merging records')

const outcomesOf = (written: readonly { readonly outcome: string }[]) => written.map(({ outcome }) => outcome)

export const mergingCases: readonly ContractCase[] = [
  it('adds later messages and advances the branch', async ({ store, clock }) => {
    const { conversation, branch } = await startConversation(store)
    const early = await recordsOf(store, conversation.id)
    clock.now += 1_000
    await appendTexts(store, branch, 'four', 'five')
    const late = await recordsOf(store, conversation.id)
    await forget(store, conversation.id)
    await writeAll(store, early, 'added')
    const written = await write(store, late)
    assert.deepEqual(outcomesOf(written), [
      'advanced',
      ...Array(3).fill('present'),
      'added',
      'added',
      'advanced',
    ])
    assert.deepEqual(await recordsOf(store, conversation.id), late)
    await writeAll(store, late, 'present')
    // Older records change nothing.
    await writeAll(store, early, 'present')
    assert.deepEqual(await recordsOf(store, conversation.id), late)
  }),

  it('keeps both sides of a diverged branch and reports it once', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const early = await recordsOf(store, conversation.id)
    await appendTexts(store, branch, 'there')
    const there = await recordsOf(store, conversation.id)
    await forget(store, conversation.id)
    await writeAll(store, early, 'added')
    await store.append(branch, ids[2], [say('here')])
    const written = await write(store, there)
    assert.equal(written.at(-1)?.outcome, 'added')
    assert.match(JSON.stringify(written.at(-1)), /main-2/)
    assert.deepEqual(await said(store, branch), ['one', 'two', 'three', 'here'])
    assert.deepEqual(await said(store, { ...branch, name: 'main-2' }), ['one', 'two', 'three', 'there'])
    const version = await store.versionOf(conversation.id)
    await writeAll(store, there, 'present')
    assert.equal(await store.versionOf(conversation.id), version)
    assert.equal((await collectPages(page => store.listBranches(conversation.id, page))).length, 2)
  }),

  it('does not move a branch that an open turn holds', async ({ store, clock }) => {
    const { conversation, branch } = await store.create()
    const turn = { key: 't', step: 0, status: 'open', holder: holder(7) } as const
    const asked = await store.append(branch, null, [say('q')], { turn })
    const early = await recordsOf(store, conversation.id)
    await store.append(branch, asked.head, [say('there', 'assistant')], { turn: { ...turn, step: 1 } })
    const there = (await recordsOf(store, conversation.id)).filter(({ kind }) => kind !== 'turn')
    await forget(store, conversation.id)
    await writeAll(store, early, 'added')
    assert.match(JSON.stringify(await write(store, there)), /main-2/)
    assert.equal((await store.getBranch(branch)).head, asked.head)
    await store.append(branch, asked.head, [say('here', 'assistant')], { turn: { ...turn, step: 1 } })
    assert.deepEqual(await said(store, { ...branch, name: 'main-2' }), ['q', 'there'])
    // After the lease has expired, the turn does not hold the branch.
    await forget(store, conversation.id)
    await writeAll(store, early, 'added')
    clock.now += 60_000
    await write(store, there)
    assert.deepEqual(await said(store, branch), ['q', 'there'])
  }),

  it('does not assign a key that another branch has here, and says so', async ({ store, clock }) => {
    const { conversation } = await startConversation(store, { key: 'k' })
    const records = await recordsOf(store, conversation.id)
    await forget(store, conversation.id)
    const other = await store.create({ key: 'k' })
    const written = await write(store, records)
    assert.match(JSON.stringify(written.at(-1)), new RegExp(`key .*k.* ${other.conversation.id}`))
    const main = { conversationId: conversation.id, name: 'main' }
    assert.equal((await store.getBranch(main)).key, null)
    assert.equal((await store.getBranch(main)).formerKey, 'k')
    assert.equal((await store.findByKey('k'))?.conversation.id, other.conversation.id)
    await writeAll(store, records, 'present')
    // An expired conversation gives the key up.
    await forget(store, conversation.id)
    await store.updateConversation(other.conversation.id, { expiresAt: new Date(clock.now + 1) })
    clock.now += 10
    await writeAll(store, records, 'added')
    assert.equal((await store.findByKey('k'))?.conversation.id, conversation.id)
  }),

  it('keeps the local titles, labels, erasures and trash state', async ({ store }) => {
    const { conversation, ids } = await startConversation(store, { title: 'There', key: 'k' })
    const { id } = conversation
    const records = await recordsOf(store, id)
    await store.updateConversation(id, { title: 'Here', tags: ['mine'] })
    await store.setLabel(ids[0], 'mine')
    await store.eraseMessages([ids[1]], { by: 'anna', reason: 'private' })
    await store.trash(id)
    const before = await recordsOf(store, id)
    await writeAll(store, records, 'present')
    assert.deepEqual(await recordsOf(store, id), before)
    assert.equal((await store.getConversation(id)).title, 'Here')
    assert.equal(await store.findByKey('k'), null)
  }),

  it('restores messages deleted here and keeps messages deleted in the source', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const { id } = conversation
    const whole = await recordsOf(store, id)
    await store.deleteMessages([ids[2]])
    const deleted = await recordsOf(store, id)
    assert.equal(allOf(deleted, 'tombstone').length, 1)
    const written = await write(store, whole)
    assert.deepEqual(outcomesOf(written), ['present', 'present', 'present', 'added', 'advanced'])
    assert.deepEqual(await said(store, branch), ['one', 'two', 'three'])
    await writeAll(store, whole, 'present')
    await writeAll(store, deleted, 'present')
    assert.deepEqual(await said(store, branch), ['one', 'two', 'three'])
    assert.equal((await store.getMessages([ids[2]]))[0]?.seq, 3)
  }),

  it('ends an open turn that has ended in the source, unless it is held here', async ({ store, clock }) => {
    const { conversation, branch } = await store.create()
    const { id } = conversation
    const step = { key: 't', step: 0, status: 'open', holder: holder() } as const
    const asked = await store.append(branch, null, [say('q')], { turn: step })
    await store.putDraft(id, 't', holder(), [{ n: 0, type: 'text', text: 'hal' }])
    const open = await recordsOf(store, id)
    await store.append(branch, asked.head, [say('half', 'assistant')], {
      turn: { key: 't', step: 1, status: 'complete', holder: holder(), usage: { output: 4 } },
    })
    const ended = await recordsOf(store, id)
    await forget(store, id)
    await writeAll(store, open, 'added')
    const written = await write(store, ended)
    assert.deepEqual(outcomesOf(written), ['advanced', 'present', 'added', 'advanced', 'advanced'])
    assert.deepEqual(await recordsOf(store, id), ended)
    assert.deepEqual(await collectPages(page => store.readDraft(id, 't', page)), [])
    await writeAll(store, open, 'present')
    assert.deepEqual(await recordsOf(store, id), ended)
    // Held by another process with a valid lease.
    await forget(store, id)
    const other = { ...one(open, 'turn'), holder: holder(9), leaseUntil: clock.now + 20_000 }
    await write(
      store,
      open.map(record => (record.kind === 'turn' ? other : record)),
    )
    await write(store, ended)
    assert.equal((await collectPages(page => store.listTurns(id, page)))[0]?.status, 'open')
  }),

  it('limits the lease of a record to the normal lease', async ({ store, clock }) => {
    const id = await fill(store)
    const records = await recordsOf(store, id)
    await forget(store, id)
    const far = records.map(record =>
      record.kind === 'turn' && record.status === 'open'
        ? { ...record, leaseUntil: clock.now + 1e12 }
        : record,
    )
    await write(store, far)
    const [turn] = await collectPages(page => store.listTurns(id, { status: 'open', ...page }))
    assert.ok(turn?.leaseUntil && turn.leaseUntil.getTime() <= clock.now + 30_000)
    // A branch cannot have a second open turn.
    const second = { ...allOf(records, 'turn').find(({ status }) => status === 'open')!, key: 'another' }
    const [written] = await write(store, [second])
    assert.equal(written?.outcome, 'refused')
    // A cost that is not a number is refused, because costs are summed.
    const ended = { ...allOf(records, 'turn').find(({ status }) => status !== 'open')!, key: 'dear' }
    const [dear] = await write(store, [{ ...ended, usage: { input: '5' } as never }])
    assert.equal(dear?.outcome, 'refused')
  }),

  it('accepts pieces of a draft in order, and none without a turn', async ({ store }) => {
    const id = await fill(store)
    const draft = one(await recordsOf(store, id), 'draft')
    const written = await write(store, [
      { ...draft, n: 2 },
      { ...draft, turn: 'nowhere' },
      { ...draft, n: 1, text: 'more' },
      { ...draft, turn: 't1' },
    ])
    assert.deepEqual(outcomesOf(written), ['refused', 'refused', 'added', 'present'])
    assert.equal((await collectPages(page => store.readDraft(id, 't2', page))).length, 2)
  }),

  it('accepts a summary only with the checksum of its messages, and none of erased messages', async ({
    store,
    clock,
  }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const { id } = conversation
    await summarise(store, id, [ids[0], ids[1]])
    const side = await store.createBranch(id, ids[0], { name: 'side' })
    const { head } = await appendTexts(store, side, 'other')
    const summary = one(await recordsOf(store, id), 'summary')
    const outcome = async (record: StoreRecord) => (await write(store, [record]))[0]?.outcome
    assert.equal(await outcome(summary), 'present')
    const longer = { ...summary, last: ids[2], checksum: sha256Hex(ids.map(one => `${one}\n`).join('')) }
    assert.equal(await outcome({ ...longer, checksum: summary.checksum }), 'refused')
    assert.equal(await outcome({ ...longer, first: head }), 'refused')
    assert.equal(await outcome({ ...longer, first: noMessage }), 'refused')
    assert.equal(await outcome(longer), 'added')
    assert.equal((await collectPages(page => store.listSummaries(id, page))).length, 2)
    clock.now += 1_000
    await store.eraseMessages([ids[1]], { by: 'anna', reason: 'private' })
    assert.deepEqual(await collectPages(page => store.listSummaries(id, page)), [])
    assert.equal(await outcome(summary), 'refused')
    // A summary made after the erasure does not contain the erased content.
    assert.equal(await outcome({ ...summary, createdAt: clock.now + 1 }), 'added')
    assert.equal((await store.getBranch(branch)).head, ids[2])
  }),

  it('accepts new events, whatever their numbers', async ({ store }) => {
    const { conversation } = await startConversation(store)
    const { id } = conversation
    await store.addEvents(id, [{ type: 'plan', data: { n: 1 } }, { type: 'resume' }])
    const there = await recordsOf(store, id)
    await forget(store, id)
    await writeAll(
      store,
      there.filter(({ kind }) => kind !== 'event'),
      'added',
    )
    await store.addEvents(id, [{ type: 'permission' }])
    const events = allOf(there, 'event')
    const version = await store.versionOf(id)
    assert.deepEqual(outcomesOf(await write(store, events)), ['added', 'added'])
    assert.ok((await store.versionOf(id)) > version)
    assert.deepEqual(
      (await collectPages(page => store.listEvents(id, page))).map(({ type }) => type).sort(),
      ['permission', 'plan', 'resume'],
    )
    await writeAll(store, events, 'present')
    assert.deepEqual(outcomesOf(await write(store, [{ ...events[0]!, n: 2_000_000_000, at: 9 }])), ['added'])
    await store.addEvents(id, [{ type: 'plan' }])
    assert.deepEqual(
      (await collectPages(page => store.listEvents(id, page))).map(({ n }) => n),
      [0, 1, 2, 3, 4],
    )
  }),

  it('raises totals that never decrease, and lowers nothing', async ({ store }) => {
    const id = await fill(store)
    const conversation = one(await recordsOf(store, id), 'conversation')
    const { tokensUsed, cost } = await store.getConversation(id)
    const outcome = async (change: object) =>
      (await write(store, [{ ...conversation, ...change }]))[0]?.outcome
    assert.equal(await outcome({ tokensUsed: 0, cost: 0 }), 'present')
    assert.equal((await store.getConversation(id)).tokensUsed, tokensUsed)
    const version = await store.versionOf(id)
    assert.equal(await outcome({ tokensUsed: tokensUsed + 5 }), 'advanced')
    assert.equal(await outcome({ cost: cost + 0.5 }), 'advanced')
    const after = await store.getConversation(id)
    assert.deepEqual([after.tokensUsed, after.cost], [tokensUsed + 5, cost + 0.5])
    assert.ok(after.version > version)
  }),

  it('keeps local agent links and adds others', async ({ store }) => {
    const id = await fill(store)
    const link = one(await recordsOf(store, id), 'agent_link')
    const written = await write(store, [
      { ...link, foreignId: 'changed' },
      { ...link, agent: 'b', seen: noMessage },
      { ...link, branch: 'nowhere' },
    ])
    assert.deepEqual(outcomesOf(written), ['present', 'added', 'refused'])
    const main = { conversationId: id, name: 'main' }
    assert.deepEqual(
      (await collectPages(page => store.listAgentLinks(main, page))).map(({ agent, foreignId, seen }) => [
        agent,
        foreignId,
        seen,
      ]),
      [
        ['agent', 'f', link.seen],
        ['b', 'f', null],
      ],
    )
  }),

  it('accepts records of many conversations in one call, each independently', async ({ store }) => {
    const places = [
      await startConversation(store),
      await startConversation(store),
      await startConversation(store),
    ]
    const all = (await Promise.all(places.map(place => recordsOf(store, place.conversation.id)))).flat()
    for (const { conversation } of places) await forget(store, conversation.id)
    await writeAll(store, all, 'added')
    for (const { branch } of places) assert.deepEqual(await said(store, branch), ['one', 'two', 'three'])
  }),

  it(
    'gives the same result if many write the same records at once',
    async world => {
      const { store } = world
      const id = await fill(store)
      const records = await recordsOf(store, id)
      const handles = await writers(world)
      for (let round = 0; round < 5; round++) {
        await forget(store, id)
        const written = await Promise.all(handles.map(handle => write(handle, records)))
        assert.ok(written.flat().every(({ outcome }) => outcome === 'added' || outcome === 'present'))
        assert.deepEqual(await recordsOf(store, id), records)
      }
    },
    'second handle',
  ),
]
