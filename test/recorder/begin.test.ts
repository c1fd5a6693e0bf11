import { describe, expect, it } from 'vitest'
import { BusyError, ConflictError, type Holder } from '../../src/core/errors.ts'
import type { MessageId } from '../../src/core/ids.ts'
import { collectPages } from '../../src/core/pages.ts'
import { beginTurn, takeOver } from '../../src/recorder/index.ts'
import { settle } from './clockwork.ts'
import { assistant, type Place, place, text, user } from './place.ts'

const other: Holder = { host: 'elsewhere', boot: 'b', pid: 7, startedAt: 1 }

/** Another process that begins a turn and keeps it open. */
async function heldByAnother({ store, branch, clock, id }: Place, holder = other) {
  const elsewhere = { ...clock, holder: () => holder }
  const first = await beginTurn(store, branch, { words: [user('before')] }, clock)
  await first.add([assistant('answered')])
  await first.end('complete')
  const { head } = first
  const turn = await beginTurn(store, branch, { words: [user('theirs')], key: 'theirs' }, elsewhere)
  const living = async () =>
    (await collectPages(page => store.listTurns(id, { status: 'open', ...page }))).map(({ key }) => key)
  return { turn, elsewhere, before: head, living }
}

describe('beginTurn on a branch that another turn holds', () => {
  it('refuses, names the holder, and does not touch the other turn', async () => {
    const it = await place()
    const { living } = await heldByAnother(it)
    const mine = beginTurn(it.store, it.branch, { words: [user('mine')] }, it.clock)
    await expect(mine).rejects.toMatchObject({ code: 'busy', holder: other })
    expect(await living()).toEqual(['theirs'])
    expect(await it.said()).toEqual(['before', 'answered', 'theirs'])
  })

  it('forks before the incomplete turn with onBusy: fork', async () => {
    const it = await place()
    await heldByAnother(it)
    const mine = await beginTurn(it.store, it.branch, { words: [user('mine')], onBusy: 'fork' }, it.clock)
    expect([mine.forked, mine.branch.name]).toEqual([true, 'main-2'])
    await mine.add([assistant('done')])
    expect(await mine.end('complete')).toMatchObject({ saved: true, branch: { name: 'main-2' } })
    expect(await it.said('main-2')).toEqual(['before', 'answered', 'mine', 'done'])
    expect(await it.said()).toEqual(['before', 'answered', 'theirs'])
  })

  it('waits with onBusy: wait, and begins as soon as the branch is free', async () => {
    const it = await place()
    const { turn } = await heldByAnother(it)
    const mine = beginTurn(it.store, it.branch, { words: [user('mine')], onBusy: 'wait' }, it.clock)
    await it.clock.advance(5_000)
    expect(await it.said()).toEqual(['before', 'answered', 'theirs'])
    await turn.add([assistant('for them')])
    await turn.end('complete')
    await it.clock.advance(1_500)
    expect((await mine).forked).toBe(false)
    expect(await it.said()).toEqual(['before', 'answered', 'theirs', 'for them', 'mine'])
  })

  it('waits until the lease expires, if the holder does not renew it (R8)', async () => {
    const it = await place()
    const { turn } = await heldByAnother(it)
    turn.draft(text('half an'))
    await it.clock.advance(200)
    // Its process is suspended from here on: none of its timers runs.
    const frozen = { ...it.clock, after: () => () => undefined }
    const theirs = await beginTurn(
      it.store,
      it.branch,
      { words: [user('x')], key: 'x', onBusy: 'fork' },
      frozen,
    )
    expect(theirs.forked).toBe(true)
    const aside = { conversationId: it.id, name: 'main-2' }
    const mine = beginTurn(
      it.store,
      aside,
      { words: [user('mine')], onBusy: 'wait' },
      {
        ...it.clock,
        holder: () => ({ ...other, pid: 8 }),
      },
    )
    await it.clock.advance(29_000)
    expect(await it.said('main-2')).toEqual(['before', 'answered', 'x'])
    await it.clock.advance(3_000)
    await mine
    expect(await it.said('main-2')).toEqual(['before', 'answered', 'x', 'mine'])
    // The living process has renewed its own lease meanwhile.
    expect(
      (await collectPages(page => it.store.listTurns(it.id, { status: 'open', ...page }))).map(
        ({ key }) => key,
      ),
    ).toContain('theirs')
  })

  it('stops waiting when the signal is aborted', async () => {
    const it = await place()
    await heldByAnother(it)
    const giveUp = new AbortController()
    const options = { words: [user('mine')], onBusy: 'wait', signal: giveUp.signal } as const
    const mine = beginTurn(it.store, it.branch, options, it.clock)
    const refused = expect(mine).rejects.toThrow('enough')
    await it.clock.advance(500)
    giveUp.abort(new Error('enough'))
    await refused
    await expect(beginTurn(it.store, it.branch, options, it.clock)).rejects.toThrow('enough')
    expect(await it.said()).toEqual(['before', 'answered', 'theirs'])
  })

  it('takes the turn over at once if its holder is surely dead, and keeps the partial answer (R27)', async () => {
    const it = await place()
    const { turn } = await heldByAnother(it)
    turn.draft(text('half an answer'))
    await it.clock.advance(200)
    const source = { ...it.clock, isDead: (holder: Holder) => holder.pid === other.pid }
    const mine = await beginTurn(it.store, it.branch, { words: [user('mine')] }, source)
    expect(mine.forked).toBe(false)
    expect(await it.said()).toEqual(['before', 'answered', 'theirs', 'half an answer', 'mine'])
    const turns = await collectPages(page => it.store.listTurns(it.id, page))
    expect(turns.map(({ status }) => status)).toEqual(['complete', 'interrupted', 'open'])
  })

  it('refuses also a turn without opening messages, and one in the mode at_once', async () => {
    const it = await place()
    await heldByAnother(it)
    const begin = (options: object) => beginTurn(it.store, it.branch, { words: [], ...options }, it.clock)
    await expect(begin({})).rejects.toBeInstanceOf(BusyError)
    await expect(begin({ mode: 'at_once', words: [user('mine')] })).rejects.toBeInstanceOf(BusyError)
    const beside = await begin({ mode: 'at_once', words: [user('mine')], onBusy: 'fork' })
    await beside.end('complete')
    expect(await it.said('main-2')).toEqual(['before', 'answered', 'mine'])
  })

  it('waits for the living turn of the same key', async () => {
    const it = await place()
    const { turn } = await heldByAnother(it)
    const begin = () =>
      beginTurn(it.store, it.branch, { words: [user('theirs')], key: 'theirs', onBusy: 'wait' }, it.clock)
    const mine = begin()
    await it.clock.advance(500)
    await turn.add([assistant('for them')])
    await turn.end('complete')
    await it.clock.advance(1_500)
    expect((await mine).replayed).toBe('complete')
    expect(await it.said()).toEqual(['before', 'answered', 'theirs', 'for them'])
  })
})

describe('beginTurn on a branch that has moved', () => {
  it('refuses or forks if the caller gives expectedHead', async () => {
    const { store, branch, said, clock } = await place()
    const { head } = await store.append(branch, null, [user('seen')])
    await store.append(branch, head, [user('not seen')])
    const begin = (options: object) =>
      beginTurn(store, branch, { words: [user('mine')], expectedHead: head, ...options }, clock)
    for (const mode of ['live', 'at_once']) {
      await expect(begin({ mode })).rejects.toMatchObject({ code: 'conflict', expected: head })
    }
    const mine = await begin({ onMoved: 'fork' })
    expect([mine.forked, mine.branch.name]).toEqual([true, 'main-2'])
    expect(await said('main-2')).toEqual(['seen', 'mine'])
    await expect(begin({ expectedHead: null })).rejects.toBeInstanceOf(ConflictError)
  })

  it('continues at the new head without expectedHead', async () => {
    const { store, branch, said, clock, failing } = await place()
    let moved: MessageId | null = null
    failing.fate = () => null
    const racing = new Proxy(failing.store, {
      get(target, name) {
        if (name !== 'append') return target[name as keyof typeof target]
        return async (...args: Parameters<typeof store.append>) => {
          // Between reading the head and the append.
          if (moved === null) moved = (await store.append(branch, null, [user('in between')])).head
          return store.append(...args)
        }
      },
    })
    const turn = await beginTurn(racing, branch, { words: [user('mine')] }, clock)
    expect(turn.forked).toBe(false)
    expect(await said()).toEqual(['in between', 'mine'])
  })
})

describe('beginTurn with likelyHead', () => {
  /** How often the branch is read, and how often a turn is written. */
  function counting(store: Place['store']) {
    const calls = { getBranch: 0, append: 0 }
    const counted = new Proxy(store, {
      get(target, name) {
        const value = target[name as keyof typeof target]
        if (name !== 'getBranch' && name !== 'append') return value
        calls[name]++
        return value
      },
    })
    return { calls, counted }
  }

  it('does not read the branch', async () => {
    const { store, branch, said, clock } = await place()
    const { head } = await store.append(branch, null, [user('seen')])
    const { calls, counted } = counting(store)
    const turn = await beginTurn(counted, branch, { words: [user('mine')], likelyHead: head }, clock)
    expect(turn.forked).toBe(false)
    expect(calls).toEqual({ getBranch: 0, append: 1 })
    expect(await said()).toEqual(['seen', 'mine'])
  })

  it.each(['refuse', 'wait', 'fork'] as const)(
    'continues at the new head if the branch has moved (onBusy: %s)',
    async onBusy => {
      const { store, branch, said, clock } = await place()
      const { head } = await store.append(branch, null, [user('seen')])
      await store.append(branch, head, [user('not seen')])
      const begin = { words: [user('mine')], likelyHead: head, onMoved: 'fork', onBusy } as const
      const turn = await beginTurn(store, branch, begin, clock)
      expect(turn.forked).toBe(false)
      expect(await said()).toEqual(['seen', 'not seen', 'mine'])
    },
  )

  it('forks before the incomplete turn that has moved the branch', async () => {
    const it = await place()
    const { before } = await heldByAnother(it)
    const begin = { words: [user('mine')], likelyHead: before, onBusy: 'fork' } as const
    const mine = await beginTurn(it.store, it.branch, begin, it.clock)
    expect([mine.forked, mine.branch.name]).toEqual([true, 'main-2'])
    expect(await it.said('main-2')).toEqual(['before', 'answered', 'mine'])
    const refused = beginTurn(it.store, it.branch, { ...begin, onBusy: 'refuse' }, it.clock)
    await expect(refused).rejects.toMatchObject({ code: 'busy', holder: other })
  })

  it('is ignored if expectedHead is given', async () => {
    const { store, branch, clock } = await place()
    const { head } = await store.append(branch, null, [user('seen')])
    const begin = { words: [user('mine')], likelyHead: head, expectedHead: null }
    await expect(beginTurn(store, branch, begin, clock)).rejects.toBeInstanceOf(ConflictError)
  })
})

describe('takeOver', () => {
  it('ends abandoned turns, of one branch or of all, and does not touch living ones', async () => {
    const { store, branch, id, clock } = await place()
    const dead: Holder = { ...other, pid: 666 }
    const source = { ...clock, isDead: (holder: Holder) => holder.pid === 666 }
    const begin = (name: string, holder: Holder) =>
      store.append({ conversationId: id, name }, null, [user(name)], {
        turn: { key: name, step: 0, status: 'open', holder },
      })
    for (const name of ['dead', 'living', 'late']) await store.createBranch(id, null, { name })
    await begin('late', other)
    await clock.advance(29_999)
    await begin('dead', dead)
    await begin('living', other)
    await begin(branch.name, dead)
    const open = async () =>
      (await collectPages(page => store.listTurns(id, { status: 'open', ...page })))
        .map(({ key }) => key)
        .sort()
    expect(await takeOver(store, id, 'living', source)).toEqual([])
    expect((await takeOver(store, id, 'dead', source)).map(({ turn }) => turn.key)).toEqual(['dead'])
    expect(await open()).toEqual(['late', 'living', 'main'])
    await clock.advance(1)
    const ended = await takeOver(store, id, undefined, source)
    expect(ended.map(({ turn }) => [turn.key, turn.status]).sort()).toEqual([
      ['late', 'interrupted'],
      ['main', 'interrupted'],
    ])
    expect(await open()).toEqual(['living'])
  })

  it('succeeds in one of many processes, and is not an error in the others', async () => {
    const { store, branch, id, clock } = await place()
    await store.append(branch, null, [user('x')], {
      turn: { key: 'x', step: 0, status: 'open', holder: other },
    })
    await clock.advance(31_000)
    const all = await Promise.all(Array.from({ length: 8 }, () => takeOver(store, id, undefined, clock)))
    await settle()
    expect(all.flat()).toHaveLength(1)
  })
})
