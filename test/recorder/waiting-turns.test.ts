import { describe, expect, it } from 'vitest'
import { NotFoundError, UnavailableError } from '../../src/core/errors.ts'
import { textOf } from '../../src/core/message.ts'
import { collectPages } from '../../src/core/pages.ts'
import {
  allSaved,
  type BeginTurn,
  beginTurn,
  type Trouble,
  type TurnReport,
  unsavedIn,
} from '../../src/recorder/index.ts'
import { assistant, type Place, place, text, user } from './place.ts'

const away = { before: new UnavailableError('away') }

/** Begins a turn, and advances the time until the recorder notices that nothing can be stored. */
async function began(it: Place, words: string, options: Partial<BeginTurn> = {}) {
  const beginning = beginTurn(it.failing.store, it.branch, { words: [user(words)], ...options }, it.clock)
  await it.clock.advance(2_000)
  return beginning
}

/** Runs a whole turn while nothing can be stored. */
async function turnWhileAway(it: Place, name: string, options: Partial<BeginTurn> = {}): Promise<TurnReport> {
  const turn = await began(it, `${name}?`, options)
  await turn.add([assistant(`${name}!`)])
  const ending = turn.end('complete')
  await it.clock.advance(5_000)
  return ending
}

describe('a turn that ends while the store is away', () => {
  it('stays queued and is stored when the store is back, longer than every timeout', async () => {
    const it = await place()
    it.failing.fate = () => away
    const report = await turnWhileAway(it, 'a')
    expect(report).toMatchObject({ saved: false, unsaved: [user('a?'), assistant('a!')] })
    await it.clock.advance(24 * 3_600_000)
    expect(unsavedIn(it.failing.store).messages.map(textOf)).toEqual(['a?', 'a!'])
    expect(unsavedIn(it.failing.store)).toMatchObject({
      reason: 'away',
      error: away.before,
      branches: [{ branch: it.branch, head: null, messages: [user('a?'), assistant('a!')] }],
    })
    it.failing.heal()
    await it.clock.advance(2_000)
    expect(await report.whenSaved).toMatchObject({ saved: true, unsaved: [], status: 'complete' })
    expect(await it.said()).toEqual(['a?', 'a!'])
    expect(unsavedIn(it.failing.store)).toEqual({ messages: [], reason: null, error: null, branches: [] })
    const [turn] = await collectPages(page => it.store.listTurns(it.id, page))
    expect(turn?.status).toBe('complete')
    expect(it.clock.timers.all).toBe(0)
  })

  it('does not keep the process alive by itself', async () => {
    const it = await place()
    it.failing.fate = () => away
    await turnWhileAway(it, 'a')
    expect(it.clock.timers).toEqual({ all: 1, lively: 0 })
  })

  it('is part of the position of the next turn, and is stored before it', async () => {
    const it = await place()
    const first = await began(it, 'stored?')
    await first.add([assistant('stored!')], { ends: 'complete' })
    await first.end('complete')
    it.failing.fate = method => (method === 'getBranch' ? null : away)
    await turnWhileAway(it, 'a')
    await turnWhileAway(it, 'b')
    const turn = await began(it, 'c?')
    const { head, unsaved } = await turn.position()
    expect(head).toBe(first.head)
    expect(unsaved.map(textOf)).toEqual(['a?', 'a!', 'b?', 'b!', 'c?'])
    it.failing.heal()
    await it.clock.advance(5_000)
    expect(await turn.position()).toEqual({ head: turn.head, unsaved: [] })
    await turn.add([assistant('c!')])
    await turn.end('complete')
    expect(await it.said()).toEqual(['stored?', 'stored!', 'a?', 'a!', 'b?', 'b!', 'c?', 'c!'])
    expect((await collectPages(page => it.store.listBranches(it.id, page))).map(({ name }) => name)).toEqual([
      'main',
    ])
  })

  it('reports unsaved messages to the next turn, and the recovery once', async () => {
    const it = await place()
    it.failing.fate = () => away
    await turnWhileAway(it, 'a')
    const told: Trouble['kind'][] = []
    const turn = await began(it, 'b?', { onTrouble: ({ kind }) => told.push(kind) })
    expect(told).toEqual(['unsaved'])
    it.failing.heal()
    await it.clock.advance(2_000)
    expect(told).toEqual(['unsaved', 'recovered'])
    expect(await turn.end('complete')).toMatchObject({ saved: true })
  })

  it('keeps the partial answer, and its status', async () => {
    const it = await place()
    const turn = await began(it, 'q')
    it.failing.fate = () => away
    turn.draft(text('half an'))
    await it.clock.advance(1_000)
    const ending = turn.end('interrupted')
    await it.clock.advance(5_000)
    const report = await ending
    expect(report.unsaved.map(textOf)).toEqual(['half an'])
    it.failing.heal()
    await it.clock.advance(3_000)
    expect(await report.whenSaved).toMatchObject({ saved: true, status: 'interrupted' })
    expect(await it.said()).toEqual(['q', 'half an'])
    expect((await collectPages(page => it.store.listTurns(it.id, page)))[0]?.status).toBe('interrupted')
  })

  it('takes the next turn to the sibling branch that it had to use', async () => {
    const it = await place()
    const other = { ...it.clock, holder: () => ({ host: 'h', boot: 'b', pid: 1, startedAt: 1 }) }
    it.failing.fate = () => away
    const report = await turnWhileAway(it, 'mine')
    expect(report.branch.name).toBe('main')
    await beginTurn(it.store, it.branch, { words: [user('theirs')] }, other)
    const next = await began(it, 'and mine?')
    it.failing.heal()
    await it.clock.advance(5_000)
    await next.add([assistant('and mine!')])
    expect(await next.end('complete')).toMatchObject({ saved: true, branch: { name: 'main-2' } })
    expect(await report.whenSaved).toMatchObject({ saved: true, branch: { name: 'main-2' } })
    expect(await it.said('main-2')).toEqual(['mine?', 'mine!', 'and mine?', 'and mine!'])
    expect(await it.said()).toEqual(['theirs'])
  })

  it('is followed by a turn that expects the newest stored message as its head', async () => {
    const it = await place()
    const first = await began(it, 'one?')
    await first.end('complete')
    it.failing.fate = () => away
    const report = await turnWhileAway(it, 'a')
    const next = await began(it, 'b?', { expectedHead: report.head, onMoved: 'fork' })
    it.failing.heal()
    await it.clock.advance(5_000)
    await next.end('complete')
    expect(await it.said()).toEqual(['one?', 'a?', 'a!', 'b?'])
  })

  it.each(['live', 'at_once'] as const)('is followed by a turn of the mode %s', async mode => {
    const it = await place()
    it.failing.fate = () => away
    await turnWhileAway(it, 'a', { mode })
    const next = await began(it, 'b?', { mode })
    it.failing.fate = method => (method === 'getBranch' ? null : away)
    expect((await next.position()).unsaved.map(textOf)).toEqual(['a?', 'a!', 'b?'])
    it.failing.heal()
    await it.clock.advance(5_000)
    await next.add([assistant('b!')])
    expect(await next.end('complete')).toMatchObject({ saved: true })
    expect(await it.said()).toEqual(['a?', 'a!', 'b?', 'b!'])
  })

  it('reports messages that can never be stored, and does not delay the next turn', async () => {
    const it = await place()
    const turn = await began(it, 'q')
    it.failing.fate = () => away
    await turn.add([assistant('a')])
    const ending = turn.end('complete')
    await it.clock.advance(5_000)
    const report = await ending
    it.failing.fate = method =>
      method === 'append' ? { before: new NotFoundError('conversation', it.id) } : null
    await it.clock.advance(5_000)
    expect(await report.whenSaved).toMatchObject({ saved: false, unsaved: [assistant('a')] })
    expect(unsavedIn(it.failing.store).messages).toEqual([])
    it.failing.heal()
    await it.clock.advance(31_000) // the turn that could not be ended is held until its lease runs out
    const next = await began(it, 'next')
    expect(next.head).not.toBeNull()
    await next.end('complete')
  })

  it('counts against the limits of the following turns', async () => {
    const it = await place()
    it.failing.fate = () => away
    const limits = { waitingCharacters: 20 }
    await turnWhileAway(it, '0123456', { limits })
    const told: Trouble['kind'][] = []
    const next = await began(it, 'b?', { limits, onTrouble: ({ kind }) => told.push(kind) })
    await next.add([assistant('a full queue')])
    expect(told).toContain('lost')
    const ending = next.end('complete')
    await it.clock.advance(5_000)
    expect((await ending).lost).toBe(1)
  })
})

describe('allSaved', () => {
  it('resolves at once if nothing is queued', async () => {
    expect(await allSaved({})).toBe(true)
  })

  it('resolves when everything is stored', async () => {
    const it = await place()
    it.failing.fate = () => away
    await turnWhileAway(it, 'a')
    await turnWhileAway(it, 'b')
    let done = false
    const saved = allSaved(it.failing.store).then(all => {
      done = true
      return all
    })
    await it.clock.advance(60_000)
    expect(done).toBe(false)
    it.failing.heal()
    await it.clock.advance(5_000)
    expect(await saved).toBe(true)
    expect(await it.said()).toEqual(['a?', 'a!', 'b?', 'b!'])
  })

  it('stops waiting when its signal is aborted; the messages stay queued', async () => {
    const it = await place()
    it.failing.fate = () => away
    await turnWhileAway(it, 'a')
    const stop = new AbortController()
    const saved = allSaved(it.failing.store, stop.signal)
    stop.abort('enough')
    await expect(saved).rejects.toBe('enough')
    it.failing.heal()
    await it.clock.advance(5_000)
    expect(await it.said()).toEqual(['a?', 'a!'])
  })
})
