import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { MessageId } from '../../src/core/ids.ts'
import { textOf } from '../../src/core/message.ts'
import { pathOf } from '../../src/core/path.ts'
import type { Store } from '../../src/core/ports.ts'
import { beginTurn, systemRecorderSource, takeOver } from '../../src/recorder/index.ts'
import { openStore } from '../../src/stores/open.ts'
import { appendTexts, holder, say, startConversation } from '../../src/testing/contract/build.ts'
import { engines, freshTarget } from '../recorder/engines.ts'
import { note } from './note.ts'
import { seededRandom } from './random.ts'
import { size } from './size.ts'

/** Clocks that are an hour behind, ten years ahead, or jumping. */
const hour = 3_600_000
const tenYears = 3_652 * 24 * hour
const truth = Date.UTC(2026, 5, 1)

/** A store with a settable clock. */
async function openWithClock(engine: (typeof engines)[number]) {
  const clock = { now: truth }
  const source = { now: () => clock.now, uuid: () => crypto.randomUUID() }
  const store = await openStore(await freshTarget(engine), { source })
  onTestFinished(() => store.close())
  return { store, clock, source: { ...systemRecorderSource, now: source.now } }
}

describe.each(engines)('a wrong clock on %s', engine => {
  it.each([
    ['an hour behind', [-hour]],
    ['ten years ahead', [tenYears]],
    ['an hour behind, then ten years ahead, then right', [-hour, tenYears, 0]],
    ['jumping about', null],
  ] as const)('does not change the order of messages: %s (R9)', async (_, jumps) => {
    const { store, clock } = await openWithClock(engine)
    const random = seededRandom(20_260_101)
    const { branch, conversation } = await store.create()
    const count = size({ gate: 60, full: 1_000 })
    let head: MessageId | null = null
    let updated = 0
    for (let n = 0; n < count; n++) {
      const jump = jumps ? (jumps[Math.floor((n * jumps.length) / count)] ?? 0) : (random() - 0.5) * tenYears
      // Half of the messages are written while the clock is right.
      clock.now = truth + n * 1_000 + (n % 2 === 0 ? 0 : Math.round(jump))
      head = (await store.append(branch, head, [say(`message ${n}`)])).head
      const { updatedAt } = await store.getConversation(conversation.id)
      expect(updatedAt.getTime()).toBeGreaterThanOrEqual(updated)
      updated = updatedAt.getTime()
    }
    const said = Array.from({ length: count }, (_, n) => `message ${n}`)
    const path = await pathOf(store, head!)
    expect(path.map(textOf)).toEqual(said)
    expect(path.map(({ seq }) => seq)).toEqual(said.map((_, n) => n))
    const { items } = await store.listMessages({
      conversationId: conversation.id,
      order: 'ascending',
      limit: 1_000,
    })
    expect(items.map(textOf)).toEqual(said)
    const tail = await store.tail(head!, { messages: 10 })
    expect(tail.messages.map(textOf)).toEqual(said.slice(-tail.messages.length))
    note('messages', count)
    // The negative control: ordered by their times, they would be in another order.
    const byTime = path.toSorted((a, b) => a.createdAt.getTime() - b.createdAt.getTime())
    expect(byTime.map(textOf)).not.toEqual(said)
  })

  /** A task that lives for a day, a conversation that lives for a day, and one that was trashed an hour ago.
   */
  async function things(store: Store) {
    const day = { ttlMs: 24 * hour }
    const task = await startConversation(store, { task: 'report', ...day })
    const keyed = await startConversation(store, { key: 'k', ...day })
    const trashed = await startConversation(store)
    await store.trash(trashed.conversation.id)
    return { task, keyed, trashed }
  }

  it.each([
    ['an hour behind', -hour],
    ['ten years ahead', tenYears],
    ['ten years behind', -tenYears],
  ])('expires nothing early in a sweep: %s (R9)', async (_, jump) => {
    const { store, clock } = await openWithClock(engine)
    await store.sweep()
    const { task, keyed, trashed } = await things(store)
    clock.now = truth + hour + jump
    const swept = await store.sweep()
    expect(swept).toMatchObject({ trashed: [], purged: [] })
    expect(swept.clockJumped === null).toBe(Math.abs(jump) === hour)
    clock.now = truth + hour
    expect(await store.sweep()).toMatchObject({ trashed: [], purged: [] })
    expect(await store.findByTask('report')).toMatchObject({ conversation: { id: task.conversation.id } })
    expect(await store.findByKey('k')).toMatchObject({ conversation: { id: keyed.conversation.id } })
    await store.restore(trashed.conversation.id)
    for (const { ids } of [task, keyed, trashed]) expect(await pathOf(store, ids[2])).toHaveLength(3)
  })

  it('control: trashes conversations early if there is no earlier time to compare with', async () => {
    const { store, clock } = await openWithClock(engine)
    const { task } = await things(store)
    clock.now = truth + tenYears
    expect((await store.sweep()).trashed).toEqual([task.conversation.id])
    // Not permanently: it stays in the trash for a week, by any clock.
    clock.now = truth + hour
    await store.sweep()
    expect((await store.sweep()).purged).toEqual([])
    await store.restore(task.conversation.id)
    expect(await pathOf(store, task.ids[2])).toHaveLength(3)
  })

  it('does not lock a branch or a range for ten years (R9)', async () => {
    const { store, clock, source } = await openWithClock(engine)
    const { branch, conversation, ids } = await startConversation(store)
    const range = { first: ids[0], last: ids[1] }
    clock.now = truth + tenYears
    // Held by a process on another host, whose state cannot be determined.
    const elsewhere = holder(7)
    await store.append(branch, ids[2], [say('I will think about it.')], {
      turn: { key: 'long', step: 0, status: 'open', holder: elsewhere },
    })
    await store.claimSummary(conversation.id, range, elsewhere)

    clock.now = truth
    const turn = await beginTurn(store, branch, { words: [say('And now?')] }, source)
    expect(turn.forked).toBe(false)
    expect(await turn.end('complete')).toMatchObject({ saved: true })
    expect(await store.claimSummary(conversation.id, range, holder())).toEqual({ claimed: true })
  })

  it('holds a branch for a minute if another host is a minute ahead', async () => {
    const { store, clock, source } = await openWithClock(engine)
    const { branch, conversation, ids } = await startConversation(store)
    clock.now = truth + 60_000
    await store.append(branch, ids[2], [say('I will think about it.')], {
      turn: { key: 'long', step: 0, status: 'open', holder: holder(7) },
    })
    clock.now = truth
    expect(await takeOver(store, conversation.id, undefined, source)).toEqual([])
    const mine = appendTexts(store, branch, 'Mine.')
    await expect(mine).rejects.toMatchObject({ code: 'busy' })
    clock.now = truth + 91_000
    expect(await takeOver(store, conversation.id, undefined, source)).toHaveLength(1)
  })

  const tenMinutes = 600_000

  /** Runs some work as a client whose clock is off by so much. */
  async function withClockOff<T>(ms: number, work: () => Promise<T>): Promise<T> {
    const real = Date.now.bind(Date)
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => real() + ms)
    try {
      return await work()
    } finally {
      clock.mockRestore()
    }
  }

  const differences = [
    ['ten minutes ahead of', tenMinutes],
    ['ten minutes behind', -tenMinutes],
  ] as const

  it.each(differences)('does not end a living turn if another clock is %s its own (R9)', async (_, ms) => {
    const store = await openStore(await freshTarget(engine))
    onTestFinished(() => store.close())
    const { branch, conversation } = await store.create()
    // On PostgreSQL the holder may be anywhere; on SQLite it is a process of this machine.
    const living = engine === 'postgres' ? holder(7) : systemRecorderSource.holder()
    await store.append(branch, null, [say('I will think about it.')], {
      turn: { key: 'long', step: 0, status: 'open', holder: living },
    })
    await withClockOff(ms, async () => {
      expect(await takeOver(store, conversation.id)).toEqual([])
      await expect(beginTurn(store, branch, { words: [say('Mine.')] })).rejects.toMatchObject({
        code: 'busy',
      })
    })
    const { leaseUntil } = await store.renewTurn(conversation.id, 'long', living)
    expect(Math.abs(leaseUntil!.getTime() - Date.now() - 30_000)).toBeLessThan(10_000)
  })

  it.each(differences)('does not wait for a dead holder whose clock was %s ours (R9)', async (_, ms) => {
    const store = await openStore(await freshTarget(engine), { leaseMs: 5_000 })
    onTestFinished(() => store.close())
    const { branch, conversation } = await store.create()
    const here = systemRecorderSource.holder()
    // It ended on this machine, which had another name then.
    const dead = { ...here, host: here.host.replace(/^[^/]*/, 'former-name'), pid: 4_194_304 }
    const open = (key: string, who: typeof here) =>
      withClockOff(ms, () =>
        store.append(branch, null, [say('I will think about it.')], {
          turn: { key, step: 0, status: 'open', holder: who },
          onConflict: 'fork',
        }),
      )
    await open('dead', dead)
    expect(await takeOver(store, conversation.id)).toHaveLength(1)
    if (engine !== 'postgres') return
    // The death of a holder elsewhere cannot be seen. By the clock of the server, its lease lasts five
    // seconds.
    await open('elsewhere', holder(7))
    const [turn] = (await store.listTurns(conversation.id, { status: 'open' })).items
    const left = turn!.leaseUntil!.getTime() - Date.now()
    expect(left).toBeGreaterThan(0)
    expect(left).toBeLessThanOrEqual(5_000)
  })

  it('ends a turn without a renewal for the longest lease, whatever the clocks say (R9)', async () => {
    const { store, clock } = await openWithClock(engine)
    const { branch, conversation } = await store.create()
    const source = { ...systemRecorderSource, now: () => clock.now, elapsed: () => elapsed }
    let elapsed = 0
    clock.now = truth + tenMinutes
    await store.append(branch, null, [say('I will think about it.')], {
      turn: { key: 'long', step: 0, status: 'open', holder: systemRecorderSource.holder() },
    })
    clock.now = truth
    expect(await takeOver(store, conversation.id, undefined, source)).toEqual([])
    elapsed = 59_999
    expect(await takeOver(store, conversation.id, undefined, source)).toEqual([])
    // A renewal begins it again.
    clock.now = truth + tenMinutes + 10_000
    await store.renewTurn(conversation.id, 'long', systemRecorderSource.holder())
    expect(await takeOver(store, conversation.id, undefined, source)).toEqual([])
    elapsed = 119_998
    expect(await takeOver(store, conversation.id, undefined, source)).toEqual([])
    elapsed = 119_999
    expect(await takeOver(store, conversation.id, undefined, source)).toHaveLength(1)
  })
})
