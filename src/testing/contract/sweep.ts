import { strict as assert } from 'node:assert'
import type { NewConversation } from '../../core/conversation.ts'
import { sha256Hex } from '../../core/hash.ts'
import type { ConversationId } from '../../core/ids.ts'
import type { BranchInConversation } from '../../core/ports.ts'
import type { SweepReceipt } from '../../core/removal.ts'
import { appendTexts, casesOf, holder, idleSweep, rejects, said, say } from './build.ts'
import type { CaseContext, ContractCase } from './contract-case.ts'

const it = casesOf('sweep')
const hour = 3_600_000
const day = 24 * hour

/** A conversation of a work item, which expires after a day without activity, the default in S2. */
function work(
  { store, clock }: CaseContext,
  task: string,
  more: NewConversation = {},
): Promise<BranchInConversation> {
  return store.create({ task, ttlMs: day, expiresAt: new Date(clock.now + day), ...more })
}

/** Moves the clock in steps that are not a jump, with a sweep after each, as a running service would. */
async function pass({ store, clock }: CaseContext, time: number): Promise<SweepReceipt[]> {
  const until = clock.now + time
  const receipts: SweepReceipt[] = []
  while (clock.now < until) {
    clock.now = Math.min(until, clock.now + 20 * hour)
    receipts.push(await store.sweep())
  }
  return receipts
}

function purgedIn(receipts: readonly SweepReceipt[]): ConversationId[] {
  return receipts.flatMap(receipt => receipt.purged)
}

export const sweepCases: readonly ContractCase[] = [
  it('moves expired task conversations to the trash and returns their ids', async world => {
    const { store, clock } = world
    const gone = await work(world, 'task-1', { key: 'task:1' })
    await appendTexts(store, gone.branch, 'question')
    clock.now += day + 1
    const kept = await work(world, 'task-2')
    const receipt = await store.sweep()
    assert.deepEqual(receipt, { ...idleSweep, trashed: [gone.conversation.id] })
    const after = await store.getConversation(gone.conversation.id)
    assert.deepEqual(after.trashedAt, new Date(clock.now))
    assert.ok(after.version > gone.conversation.version)
    assert.equal((await store.getConversation(kept.conversation.id)).trashedAt, null)
    assert.deepEqual(await store.sweep(), idleSweep)
  }),

  it('does nothing in an empty store', async ({ store }) => {
    assert.deepEqual(await store.sweep(), idleSweep)
    assert.deepEqual(await store.sweep({ dryRun: true }), { ...idleSweep, dryRun: true })
  }),

  it('never sweeps conversations of people, expired or not', async world => {
    const { store, clock } = world
    const plain = await store.create({ channel: 'cli', key: 'cli:default' })
    const expired = await store.create({
      channel: 'discord',
      ttlMs: hour,
      expiresAt: new Date(clock.now + hour),
    })
    clock.now += 30 * day
    assert.deepEqual(await store.sweep(), idleSweep)
    assert.deepEqual(purgedIn(await pass(world, 20 * day)), [])
    for (const { conversation } of [plain, expired]) {
      assert.equal((await store.getConversation(conversation.id)).trashedAt, null)
    }
  }),

  it('keeps a task conversation without an expiry', async world => {
    const { store, clock } = world
    const { conversation } = await store.create({ task: 'endless' })
    clock.now += 400 * day
    assert.deepEqual(await store.sweep(), idleSweep)
    assert.equal((await store.getConversation(conversation.id)).trashedAt, null)
  }),

  it('measures a sliding expiry from the last activity', async world => {
    const { store, clock } = world
    const { conversation, branch } = await work(world, 'sliding')
    clock.now += 20 * hour
    await appendTexts(store, branch, 'still here')
    clock.now += 10 * hour
    assert.deepEqual((await store.sweep()).trashed, [])
    clock.now += 15 * hour
    assert.deepEqual((await store.sweep()).trashed, [conversation.id])
  }),

  it('measures a fixed expiry from the creation', async world => {
    const { store, clock } = world
    const { conversation, branch } = await store.create({
      task: 'strict',
      expiresAt: new Date(clock.now + day),
    })
    clock.now += 23 * hour
    await appendTexts(store, branch, 'still here')
    clock.now += 2 * hour
    assert.deepEqual((await store.sweep()).trashed, [conversation.id])
  }),

  it('spares an expired conversation that was continued by its id (S2-34)', async world => {
    const { store, clock } = world
    const { conversation, branch } = await work(world, 'late')
    clock.now += 3 * day
    assert.equal(await store.findByTask('late'), null)
    await appendTexts(store, branch, 'continued')
    assert.deepEqual((await store.sweep()).trashed, [])
    assert.equal((await store.findByTask('late'))?.conversation.id, conversation.id)
    assert.deepEqual(await said(store, branch), ['continued'])
  }),

  it('lets a turn end that began before the expiry', async world => {
    const { store, clock } = world
    const { conversation, branch } = await work(world, 'slow')
    clock.now += 23 * hour
    const turn = { key: 'turn', step: 0, status: 'open', holder: holder() } as const
    await store.append(branch, null, [say('question')], { turn })
    clock.now += 2 * day
    await store.putDraft(conversation.id, 'turn', holder(), [{ n: 0, type: 'text', text: 'answer' }])
    const ended = await store.endTurn(conversation.id, 'turn', { status: 'complete', heldBy: holder() })
    assert.equal(ended.turn.status, 'complete')
    assert.deepEqual(await said(store, branch), ['question', 'answer'])
  }),

  it('spares a conversation while a turn is open in it and trashes it afterwards', async world => {
    const { store, clock } = world
    const { conversation, branch } = await store.create({
      task: 'slow',
      expiresAt: new Date(clock.now + day),
    })
    clock.now += 23 * hour
    const turn = { key: 'turn', step: 0, status: 'open', holder: holder() } as const
    await store.append(branch, null, [say('question')], { turn })
    clock.now += 2 * hour
    await store.renewTurn(conversation.id, 'turn', holder())
    assert.deepEqual((await store.sweep()).trashed, [])
    await store.endTurn(conversation.id, 'turn', { status: 'complete', heldBy: holder() })
    assert.deepEqual((await store.sweep()).trashed, [conversation.id])
  }),

  it('frees the key of a trashed conversation, and restore sets it again', async world => {
    const { store, clock } = world
    const { conversation, branch } = await work(world, 'task', { key: 'task:key' })
    await appendTexts(store, branch, 'question')
    clock.now += 2 * day
    await store.sweep()
    const { key, formerKey } = await store.getBranch(branch)
    assert.deepEqual([key, formerKey], [null, 'task:key'])
    assert.deepEqual(await store.restore(conversation.id), { keysTaken: [] })
    assert.equal((await store.getBranch(branch)).key, 'task:key')
    assert.deepEqual(await said(store, branch), ['question'])
  }),

  it('writes nothing in a dry run and returns what it would do', async world => {
    const { store, clock } = world
    const { conversation } = await work(world, 'task')
    clock.now += 2 * day
    const version = await store.versionOf(conversation.id)
    const expected = { ...idleSweep, dryRun: true, trashed: [conversation.id] }
    assert.deepEqual(await store.sweep({ dryRun: true }), expected)
    assert.deepEqual(await store.sweep({ dryRun: true }), expected)
    assert.equal((await store.getConversation(conversation.id)).trashedAt, null)
    assert.equal(await store.versionOf(conversation.id), version)
    // A dry run stores no time, so the first real sweep is still the first one.
    clock.now += 5 * day
    assert.deepEqual(await store.sweep(), { ...idleSweep, trashed: [conversation.id] })
  }),

  it('does not count dry runs as sweeps', async world => {
    const { store, clock } = world
    const { conversation } = await store.create()
    await store.trash(conversation.id)
    clock.now += 8 * day
    for (let i = 0; i < 5; i++) assert.deepEqual((await store.sweep({ dryRun: true })).purged, [])
    assert.deepEqual((await store.sweep()).purged, [])
    assert.equal((await store.getConversation(conversation.id)).id, conversation.id)
  }),

  it('purges from the trash after seven days, not earlier, and once', async world => {
    const { store } = world
    const { conversation } = await store.create()
    await store.sweep()
    await store.trash(conversation.id)
    assert.deepEqual(purgedIn(await pass(world, 7 * day - hour)), [])
    assert.notEqual((await store.getConversation(conversation.id)).trashedAt, null)
    assert.deepEqual(purgedIn(await pass(world, 2 * hour)), [conversation.id])
    await rejects(store.getConversation(conversation.id), 'not_found')
    assert.deepEqual(purgedIn(await pass(world, 2 * day)), [])
  }),

  it('purges only conversations that at least two sweeps have seen in the trash', async world => {
    const { store, clock } = world
    const { conversation } = await store.create()
    await store.trash(conversation.id)
    clock.now += 30 * day
    assert.deepEqual((await store.sweep()).purged, [])
    assert.notEqual((await store.getConversation(conversation.id)).trashedAt, null)
    assert.deepEqual(purgedIn(await pass(world, 3 * day)), [conversation.id])
  }),

  it('spares a conversation that was restored after it had expired', async world => {
    const { store, clock } = world
    const { conversation } = await work(world, 'task')
    await store.sweep()
    clock.now += day
    assert.deepEqual((await store.sweep()).trashed, [conversation.id])
    await store.restore(conversation.id)
    assert.deepEqual((await store.sweep()).trashed, [])
    assert.ok((await store.getConversation(conversation.id)).expiresAt!.getTime() > clock.now)
  }),

  it('counts the seven days again after a restore', async world => {
    const { store } = world
    const { conversation } = await store.create()
    await store.sweep()
    await store.trash(conversation.id)
    await pass(world, 6 * day)
    await store.restore(conversation.id)
    await store.trash(conversation.id)
    assert.deepEqual(purgedIn(await pass(world, 6 * day)), [])
    assert.deepEqual(purgedIn(await pass(world, 2 * day)), [conversation.id])
  }),

  it('counts only the sweeps since the last time in the trash', async world => {
    const { store, clock } = world
    const { conversation } = await store.create()
    await store.sweep()
    await store.trash(conversation.id)
    await pass(world, 3 * day)
    await store.restore(conversation.id)
    await store.trash(conversation.id)
    clock.now += 8 * day
    assert.notEqual((await store.sweep()).clockJumped, null)
    clock.now += hour
    assert.deepEqual((await store.sweep()).purged, [])
    assert.deepEqual(purgedIn(await pass(world, 2 * day)), [conversation.id])
  }),

  it('removes a task conversation in all steps from expiry to purge', async world => {
    const { store } = world
    const { conversation, branch } = await work(world, 'task')
    const { head } = await appendTexts(store, branch, 'a question about swordfish')
    await store.sweep()
    const receipts = await pass(world, 12 * day)
    assert.deepEqual(
      receipts.flatMap(receipt => receipt.trashed),
      [conversation.id],
    )
    assert.deepEqual(purgedIn(receipts), [conversation.id])
    await rejects(store.getMessages([head]), 'not_found')
    assert.deepEqual((await store.search('swordfish')).items, [])
  }),

  it('removes unused blobs', async world => {
    const { store } = world
    const alone = 'alone '.repeat(4_000)
    const shared = 'shared '.repeat(4_000)
    const doomed = await store.create()
    await store.append(doomed.branch, null, [say(alone), say(shared)])
    const other = await store.create()
    await store.append(other.branch, null, [say(shared)])
    await store.sweep()
    await store.trash(doomed.conversation.id)
    const receipts = await pass(world, 9 * day)
    assert.deepEqual(purgedIn(receipts), [doomed.conversation.id])
    await rejects(store.readBlob(sha256Hex(alone)), 'not_found')
    assert.deepEqual(await said(store, other.branch), [shared])
  }),

  it('only reports when the clock has jumped forwards', async world => {
    const { store, clock } = world
    const from = clock.now
    await store.sweep()
    const { conversation } = await work(world, 'task')
    clock.now += 100 * day
    const clockJumped = { from: new Date(from), to: new Date(clock.now) }
    assert.deepEqual(await store.sweep({ dryRun: true }), { ...idleSweep, dryRun: true, clockJumped })
    assert.deepEqual(await store.sweep(), { ...idleSweep, clockJumped })
    assert.equal((await store.getConversation(conversation.id)).trashedAt, null)
    clock.now += hour
    assert.deepEqual(await store.sweep(), { ...idleSweep, trashed: [conversation.id] })
  }),

  it('only reports when the clock has jumped backwards', async world => {
    const { store, clock } = world
    const expiresAt = new Date(clock.now + hour)
    const late = await store.create()
    await store.trash(late.conversation.id)
    clock.now += 40 * day
    const jumpedFrom = clock.now
    await store.sweep()
    const { conversation } = await work(world, 'task', { expiresAt })
    clock.now -= day + 1
    const receipt = await store.sweep()
    assert.deepEqual(receipt, {
      ...idleSweep,
      clockJumped: { from: new Date(jumpedFrom), to: new Date(clock.now) },
    })
    assert.equal((await store.getConversation(conversation.id)).trashedAt, null)
    assert.notEqual((await store.getConversation(late.conversation.id)).trashedAt, null)
  }),

  it('sweeps after a jump if it is told to trust the clock', async world => {
    const { store, clock } = world
    await store.sweep()
    const { conversation } = await work(world, 'task')
    clock.now += 100 * day
    const trashed = [conversation.id]
    assert.deepEqual(await store.sweep({ dryRun: true, trustClock: true }), {
      ...idleSweep,
      dryRun: true,
      trashed,
    })
    assert.equal((await store.getConversation(conversation.id)).trashedAt, null)
    assert.deepEqual(await store.sweep({ trustClock: true }), { ...idleSweep, trashed })
    // The time of the sweep is stored, so the next one finds no jump.
    assert.deepEqual(await store.sweep(), idleSweep)
  }),

  it('does not treat a day in either direction as a jump', async world => {
    const { store, clock } = world
    await store.sweep()
    clock.now += day
    assert.equal((await store.sweep()).clockJumped, null)
    clock.now -= day
    assert.equal((await store.sweep()).clockJumped, null)
    clock.now += day + 1
    assert.notEqual((await store.sweep()).clockJumped, null)
  }),

  it('sweeps more than a hundred expired conversations in one call', async world => {
    const { store, clock } = world
    const made: ConversationId[] = []
    for (let i = 0; i < 230; i++) made.push((await work(world, `task-${i}`)).conversation.id)
    const kept = await store.create({ task: 'kept' })
    clock.now += 2 * day
    const plan = await store.sweep({ dryRun: true })
    const receipt = await store.sweep()
    assert.deepEqual([...receipt.trashed].sort(), [...made].sort())
    assert.deepEqual([...plan.trashed].sort(), [...made].sort())
    assert.equal(plan.next, null)
    assert.equal(await store.countConversations({ trashed: true }), 230)
    assert.equal((await store.findByTask('kept'))?.conversation.id, kept.conversation.id)
    const receipts = await pass(world, 9 * day)
    assert.deepEqual(purgedIn(receipts).sort(), [...made].sort())
    assert.equal(await store.countConversations({ trashed: true }), 0)
  }),

  it(
    'counts one sweep for all handles of the store',
    async world => {
      const { store, clock, second } = world
      const other = await second()
      await store.sweep()
      const { conversation } = await work(world, 'task')
      clock.now += 2 * day
      assert.notEqual((await other.sweep()).clockJumped, null)
      clock.now += hour
      const both = await Promise.all([store.sweep(), other.sweep()])
      assert.deepEqual(
        both.flatMap(receipt => receipt.trashed),
        [conversation.id],
      )
    },
    'second handle',
  ),
]
