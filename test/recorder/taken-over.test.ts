import { expect, it } from 'vitest'
import type { Holder } from '../../src/core/errors.ts'
import { collectPages } from '../../src/core/pages.ts'
import { beginTurn, type Trouble, takeOver } from '../../src/recorder/index.ts'
import { assistant, place, text, user } from './place.ts'

const other: Holder = { host: 'elsewhere', boot: 'b', pid: 7, startedAt: 1 }

/** A turn whose process is suspended long enough for another one to end it. */
async function frozen({ drafted = '', words = 'mine' } = {}) {
  const it = await place()
  const troubles: Trouble['kind'][] = []
  const onTrouble = ({ kind }: Trouble) => troubles.push(kind)
  const turn = await beginTurn(it.store, it.branch, { words: [user(words)], key: 'k', onTrouble }, it.clock)
  await turn.add([assistant('one')])
  if (drafted) {
    turn.draft(text(drafted))
    await it.clock.advance(150)
  }
  const later = { ...it.clock, now: () => it.clock.now() + 30_001 }
  expect(await takeOver(it.store, it.id, undefined, later)).toHaveLength(1)
  return { ...it, turn, troubles }
}

const statuses = async ({ store, id }: Awaited<ReturnType<typeof frozen>>) =>
  (await collectPages(page => store.listTurns(id, page))).map(({ branch, status }) => [branch, status])

it('continues on a sibling branch if another process has ended the turn, and loses nothing (R8)', async () => {
  const it = await frozen({ drafted: 'half an' })
  const { turn, troubles } = it
  const { ids } = await turn.add([assistant('half an answer')])
  expect(ids).toEqual([turn.head])
  expect([turn.forked, turn.branch.name, troubles]).toEqual([true, 'main-2', ['taken_over']])
  expect(turn.key).not.toBe('k')
  turn.draft(text('and mo'))
  await it.clock.advance(150)
  turn.draft(text('re'))
  expect(await turn.end('interrupted')).toMatchObject({ saved: true, branch: { name: 'main-2' } })
  expect(await it.said()).toEqual(['mine', 'one', 'half an'])
  expect(await it.said('main-2')).toEqual(['mine', 'one', 'half an answer', 'and more'])
  expect(await statuses(it)).toEqual([
    ['main', 'interrupted'],
    ['main-2', 'interrupted'],
  ])
  expect(troubles).toEqual(['taken_over'])
})

it('continues on its branch if no other process has written there', async () => {
  const it = await frozen()
  await it.turn.add([assistant('two')])
  expect([it.turn.forked, it.troubles]).toEqual([false, ['taken_over']])
  await it.turn.end('complete')
  expect(await it.said()).toEqual(['mine', 'one', 'two'])
  expect(await statuses(it)).toEqual([
    ['main', 'interrupted'],
    ['main', 'complete'],
  ])
})

it('forks next to the turn that another process has begun meanwhile', async () => {
  const it = await frozen()
  const elsewhere = { ...it.clock, holder: () => other }
  const theirs = await beginTurn(it.store, it.branch, { words: [user('theirs')] }, elsewhere)
  await it.turn.add([assistant('two')])
  await theirs.add([assistant('for them')])
  await it.turn.end('complete')
  await theirs.end('complete')
  expect(await it.said()).toEqual(['mine', 'one', 'theirs', 'for them'])
  expect(await it.said('main-2')).toEqual(['mine', 'one', 'two'])
})

it('stores the rest of the answer that the other process did not have, when it ends', async () => {
  const it = await frozen({ drafted: 'half an' })
  it.turn.draft(text(' answer'))
  const report = await it.turn.end('interrupted')
  expect(report).toMatchObject({ saved: true, status: 'interrupted', branch: { name: 'main-2' } })
  expect(await it.said()).toEqual(['mine', 'one', 'half an'])
  expect(await it.said('main-2')).toEqual(['mine', 'one', 'half an answer'])
})

it('reports the status that the other process has stored, if everything was stored', async () => {
  const it = await frozen({ drafted: 'half' })
  expect(await it.turn.end('complete')).toMatchObject({ saved: true, status: 'interrupted', unsaved: [] })
  expect(await it.said()).toEqual(['mine', 'one', 'half'])
})

it('renews its lease while it writes nothing, so that it is not taken over (R8)', async () => {
  const { store, branch, id, clock } = await place()
  const turn = await beginTurn(store, branch, { words: [user('a long tool')] }, clock)
  for (let minute = 0; minute < 10; minute++) {
    await clock.advance(60_000)
    expect(await takeOver(store, id, undefined, clock)).toEqual([])
    const [open] = await collectPages(page => store.listTurns(id, page))
    expect(open!.leaseUntil!.getTime() - clock.now()).toBeGreaterThanOrEqual(20_000)
  }
  await turn.end('complete')
  expect(clock.timers.all).toBe(0)
})

it('does not renew a lease that drafts and steps have renewed', async () => {
  const { failing, branch, clock } = await place()
  const turn = await beginTurn(failing.store, branch, { words: [user('stream')] }, clock)
  for (let i = 0; i < 100; i++) {
    turn.draft(text('x'))
    await clock.advance(500)
  }
  expect(failing.calls.filter(method => method === 'putDraft')).toHaveLength(100)
  expect(failing.calls).not.toContain('renewTurn')
  await turn.end('complete')
})

it('follows its branch if it is renamed', async () => {
  const { store, branch, said, clock } = await place()
  const turn = await beginTurn(store, branch, { words: [user('a')] }, clock)
  await store.renameBranch(branch, 'renamed')
  await turn.add([assistant('b')])
  expect([turn.branch.name, turn.forked]).toEqual(['renamed', false])
  await turn.end('complete')
  expect(await said('renamed')).toEqual(['a', 'b'])
})

it('stores its messages if its last message was deleted meanwhile', async () => {
  const it = await frozen()
  const { store, branch, turn } = it
  await store.deleteMessages([turn.head!], { reason: 'not now' })
  await turn.add([assistant('two')])
  expect(await turn.end('complete')).toMatchObject({ saved: true })
  expect(await it.said()).toEqual(['mine', 'two'])
  expect((await store.getBranch(branch)).head).toBe(turn.head)
})

it('stores its messages if its branch was moved or deleted meanwhile', async () => {
  const it = await place()
  const { store, id, clock } = it
  const { head } = await store.append(it.branch, null, [user('first')])
  const side = await store.createBranch(id, head, { name: 'side' })
  const turns = [
    await beginTurn(store, side, { words: [user('a')] }, clock),
    await beginTurn(store, it.branch, { words: [user('b')] }, clock),
  ] as const
  await takeOver(store, id, undefined, { ...clock, now: () => clock.now() + 30_001 })
  await store.deleteBranch(side)
  await store.moveBranch(it.branch, turns[1].head, head)
  for (const turn of turns) {
    await turn.add([assistant('and on')])
    expect(await turn.end('complete')).toMatchObject({ saved: true })
    expect(turn.forked).toBe(true)
  }
  expect(await it.said(turns[0].branch.name)).toEqual(['first', 'a', 'and on'])
  expect(await it.said(turns[1].branch.name)).toEqual(['first', 'b', 'and on'])
  expect(await it.said()).toEqual(['first'])
})
