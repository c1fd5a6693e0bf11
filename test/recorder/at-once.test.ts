import { expect, it } from 'vitest'
import { InvalidError, UnavailableError } from '../../src/core/errors.ts'
import { collectPages } from '../../src/core/pages.ts'
import { pathOf } from '../../src/core/path.ts'
import { beginTurn, type Trouble } from '../../src/recorder/index.ts'
import { assistant, place, text, user } from './place.ts'

const away = { before: new UnavailableError('away') }
const writes = new Set(['append', 'putDraft', 'addEvents', 'endTurn', 'renewTurn'])

it('stores nothing before the end of the turn, and then all of it in one transaction (S0-36, S0-37)', async () => {
  const { failing, store, branch, id, said, clock } = await place()
  const words = [user('q')]
  const turn = await beginTurn(failing.store, branch, { words, mode: 'at_once', key: 't' }, clock)
  turn.draft(text('a dra'))
  await clock.advance(1_000)
  const answer = { usage: { input: 3, output: 2 }, model: 'x/y' }
  expect(await turn.add([assistant('a')], answer)).toEqual({ ids: null })
  await turn.trace([{ type: 'tool_started' }])
  await clock.advance(20_000)
  await turn.add([assistant('b'), assistant('c')], { usage: { input: 4, output: 1 } })
  expect(failing.calls.filter(method => writes.has(method))).toEqual([])
  expect(await said()).toEqual([])
  const report = await turn.end('complete', { usage: { cost: 0.1 } })
  expect(failing.calls.filter(method => writes.has(method))).toEqual(['append', 'addEvents'])
  expect(report).toMatchObject({ saved: true, status: 'complete', head: turn.head })
  expect(await said()).toEqual(['q', 'a', 'b', 'c'])
  const [stored] = await collectPages(page => store.listTurns(id, page))
  expect(stored).toMatchObject({
    key: 't',
    status: 'complete',
    lastStep: 0,
    model: 'x/y',
    usage: { input: 7, output: 3, cost: 0.1 },
  })
  expect((await collectPages(page => store.listEvents(id, page))).map(({ type }) => type)).toEqual([
    'tool_started',
  ])
})

it('stores the original times of the messages, and updates the last activity at the end (S0-35, S0-37)', async () => {
  const { store, branch, id, clock } = await place()
  const from = clock.now()
  const turn = await beginTurn(store, branch, { words: [user('q')], mode: 'at_once' }, clock)
  await clock.advance(5_000)
  await turn.add([assistant('a')])
  await clock.advance(5_000)
  const { head } = await turn.end('complete')
  const times = (await pathOf(store, head!)).map(({ createdAt }) => createdAt.getTime() - from)
  expect(times).toEqual([0, 5_000])
  expect((await store.getConversation(id)).updatedAt.getTime() - from).toBe(10_000)
})

it('stores the partial answer of an interrupted turn (S3-76)', async () => {
  const { store, branch, said, clock } = await place()
  const turn = await beginTurn(store, branch, { words: [user('q')], mode: 'at_once' }, clock)
  await turn.add([assistant('a')])
  turn.draft(text('half an'))
  const { head, status } = await turn.end('interrupted')
  expect(status).toBe('interrupted')
  expect(await said()).toEqual(['q', 'a', 'half an'])
  expect((await store.getMessages([head!]))[0]?.metadata).toEqual({ interrupted: true })
})

it('reports all messages as unsaved if they are not stored in time, and stores them later (S1-39)', async () => {
  const { failing, branch, id, store, clock } = await place()
  const told: Trouble['kind'][] = []
  const onTrouble = ({ kind }: Trouble) => told.push(kind)
  const options = { words: [user('q')], mode: 'at_once', onTrouble } as const
  const turn = await beginTurn(failing.store, branch, options, clock)
  await turn.add([assistant('a')])
  failing.fate = () => away
  const ending = turn.end('complete')
  await clock.advance(5_000)
  const report = await ending
  expect(report).toMatchObject({ saved: false, unsaved: [user('q'), assistant('a')] })
  expect(told).toEqual(['degraded'])
  expect((await store.getConversation(id)).messages).toBe(0)
  failing.heal()
  await clock.advance(2_000)
  expect(await report.whenSaved).toMatchObject({ saved: true })
  expect((await store.getConversation(id)).messages).toBe(2)
  expect(clock.timers.all).toBe(0)
})

it('stores the turn once if storage is back in time', async () => {
  const { failing, branch, said, clock } = await place()
  failing.fate = () => away
  const beginning = beginTurn(failing.store, branch, { words: [user('q')], mode: 'at_once' }, clock)
  await clock.advance(2_000)
  const turn = await beginning
  await turn.add([assistant('a')])
  const ending = turn.end('complete')
  let cut = false
  failing.fate = method => {
    if (method !== 'append' || cut) return null
    cut = true
    return { after: new UnavailableError('cut') }
  }
  await clock.advance(5_000)
  expect(await ending).toMatchObject({ saved: true, unsaved: [] })
  expect(await said()).toEqual(['q', 'a'])
})

it('forks at the end if another process has moved the branch meanwhile', async () => {
  const { store, branch, said, clock } = await place()
  const turn = await beginTurn(store, branch, { words: [user('mine')], mode: 'at_once' }, clock)
  await store.append(branch, null, [user('theirs')])
  expect(await turn.end('complete')).toMatchObject({ saved: true, branch: { name: 'main-2' } })
  expect(turn.forked).toBe(true)
  expect([await said(), await said('main-2')]).toEqual([['theirs'], ['mine']])
})

it('refuses an invalid message in add, not at the end', async () => {
  const { store, branch, said, clock } = await place()
  const turn = await beginTurn(store, branch, { words: [user('q')], mode: 'at_once' }, clock)
  await expect(turn.add([{ role: 'unknown', content: '' } as never])).rejects.toBeInstanceOf(InvalidError)
  await turn.end('complete')
  await expect(turn.add([assistant('late')])).rejects.toBeInstanceOf(InvalidError)
  expect(await said()).toEqual(['q'])
})
