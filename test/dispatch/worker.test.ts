import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { tool } from '../../src/agent/index.ts'
import { UnavailableError } from '../../src/core/errors.ts'
import { textOf } from '../../src/core/message.ts'
import { pathOf } from '../../src/core/path.ts'
import type { Dispatch } from '../../src/core/task.ts'
import { watchClaims } from '../../src/dispatch/claims.ts'
import { createWorker, type DispatchEvent, type WorkerOptions } from '../../src/dispatch/index.ts'
import { openStore, type Store } from '../../src/index.ts'
import { scripted } from '../../src/models/scripted.ts'
import { thisHolder } from '../../src/system/holder.ts'

let store: Store
beforeEach(async () => {
  store = await openStore(':memory:')
})
afterEach(() => store.close())

const fast = { pollMs: 5, reclaimMs: 20 }

function start(options: Partial<WorkerOptions> = {}) {
  const events: DispatchEvent[] = []
  const agentFor = () => ({ model: scripted({ script: () => 'Done.' }) })
  const onEvent = (event: DispatchEvent) => void events.push(event)
  return { events, worker: createWorker({ store, tasks: store, agentFor, ...fast, onEvent, ...options }) }
}

/** A tool that reports when it runs, and ends with its run. */
function gate() {
  const entered = Promise.withResolvers<void>()
  const wait = tool({
    description: '',
    input: z.object({}),
    repeatable: true,
    run: (_, { signal }) => {
      entered.resolve()
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    },
  })
  const model = scripted({ script: () => ({ calls: [{ name: 'wait', input: {} }] }) })
  return { entered: entered.promise, agent: { model, tools: { wait } } }
}

const other = { host: 'elsewhere', boot: 'b', pid: 1, startedAt: 1 }

describe('a worker', () => {
  it('runs all queued dispatches, several at a time, and names itself in the results (S2-21)', async () => {
    for (let i = 0; i < 12; i++) await store.submitTask({ id: `t${i}`, description: 'd' })
    const { events, worker } = start({ workers: 4, untilIdle: true, name: 'w' })
    await worker.ended
    expect(await store.countTasks()).toMatchObject({ done: 12, queued: 0, running: 0 })
    const ended = events.filter(event => event.type === 'ended')
    expect(new Set(ended.map(event => event.task.id)).size).toBe(12)
    expect(new Set(ended.map(event => event.result.worker_id))).toEqual(new Set(['w-1', 'w-2', 'w-3', 'w-4']))
    for (const { firstWordMs, ranMs } of ended) expect(firstWordMs).toBeLessThanOrEqual(ranMs)
  })

  it('takes only tasks of its projects', async () => {
    await store.submitTask({ id: 'a', project: 'one', description: 'd' })
    await store.submitTask({ id: 'b', project: 'two', description: 'd' })
    await start({ projects: ['two'], untilIdle: true }).worker.ended
    expect([(await store.getTask('a')).status, (await store.getTask('b')).status]).toEqual(['queued', 'done'])
  })

  it('gives its dispatch back when it stops, and the next worker continues the turn', async () => {
    const { entered, agent } = gate()
    await store.submitTask({ id: 't', description: 'Wait' })
    const first = start({ agentFor: () => agent })
    await entered
    await first.worker.stop()
    expect(first.events.map(({ type }) => type)).toContain('released')
    expect(await store.getDispatch('t', 1)).toMatchObject({ status: 'queued', deaths: 0, attempts: 1 })
    await start({ untilIdle: true }).worker.ended
    expect(await store.getDispatch('t', 1)).toMatchObject({ status: 'done', attempts: 2 })
    const { branch } = (await store.findByTask('t'))!
    const words = (await pathOf(store, branch.head!)).filter(({ role }) => role === 'user').map(textOf)
    expect(words).toEqual(['Wait'])
  })

  it('may finish what it runs before it stops', async () => {
    await store.submitTask({ id: 't', description: 'd' })
    const { promise: asked, resolve } = Promise.withResolvers<void>()
    const script = () => {
      resolve()
      return { text: 'A longer answer in many pieces.', delayMs: 5 }
    }
    const { worker } = start({ agentFor: () => ({ model: scripted({ script }) }) })
    await asked
    await worker.stop({ finishWithinMs: 60_000 })
    expect((await store.getTask('t')).status).toBe('done')
  })

  it('stops a dispatch that was cancelled', async () => {
    const { entered, agent } = gate()
    await store.submitTask({ id: 't', description: 'Wait' })
    // Renews at once instead of every five seconds.
    const { systemDispatchSource } = await import('../../src/dispatch/index.ts')
    const source = {
      ...systemDispatchSource,
      after: (ms: number, run: () => void, o?: { idle?: boolean }) =>
        systemDispatchSource.after(ms === 5_000 ? 20 : ms, run, o),
    }
    const agentFor = () => agent
    const worker = createWorker({ store, tasks: store, agentFor, ...fast, untilIdle: true }, source)
    await entered
    await store.cancelTask('t')
    await worker.ended
    expect(await store.getDispatch('t', 1)).toMatchObject({ status: 'cancelled', error: 'cancelled' })
  })

  it('waits while the store cannot be reached, and continues', async () => {
    let away = 20
    const flaky = new Proxy(store, {
      get: (target, name) => {
        const method = (target[name as keyof Store] as (...args: unknown[]) => unknown).bind(target)
        return name === 'claimDispatch' || name === 'finishDispatch'
          ? async (...args: unknown[]) => {
              if (away-- > 0) throw new UnavailableError('away')
              return method(...args)
            }
          : method
      },
    })
    await store.submitTask({ id: 't', description: 'd' })
    const { events, worker } = start({ tasks: flaky, untilIdle: true })
    await worker.ended
    expect((await store.getTask('t')).status).toBe('done')
    expect(events.filter(({ type }) => type === 'trouble').length).toBeGreaterThanOrEqual(20)
  })

  it('moves expired conversations of tasks to the trash, again and again (S2-32, S2-47, S2-58, S2-61)', async () => {
    const expired = { task: 'old', expiresAt: new Date(1_000) }
    const [one, two] = [await store.create(expired), await store.create({ ...expired, task: 'older' })]
    const lasting = await store.create({ task: 'new', ttlMs: 86_400_000 })
    const { worker, events } = start({ cleanUp: { store, everyMs: 10 } })
    await vi.waitFor(() => expect(events.filter(({ type }) => type === 'swept').length).toBeGreaterThan(2))
    await worker.stop()
    const trashed = events.flatMap(event => (event.type === 'swept' ? event.receipt.trashed : []))
    expect(trashed.toSorted()).toEqual([one.conversation.id, two.conversation.id].toSorted())
    expect((await store.getConversation(lasting.conversation.id)).trashedAt).toBe(null)
  })

  it('does not finish a dispatch that another worker has taken', async () => {
    const { entered, agent } = gate()
    await store.submitTask({ id: 't', description: 'Wait' })
    const { worker, events } = start({ agentFor: () => agent })
    await entered
    const [running] = (await store.listRunningDispatches()).items
    await store.reclaimDispatch(running!)
    const taken = await store.claimThisDispatch('t', 1, { holder: other, worker: 'thief' })
    await worker.stop()
    expect(events.map(({ type }) => type)).toContain('lost')
    expect(await store.getDispatch('t', 1)).toMatchObject({ status: 'running', worker: 'thief' })
    await store.finishDispatch(taken!.claim, { status: 'done' })
  })
})

describe('the watch over claims', () => {
  const clock = { elapsed: 0 }
  const dead = new Set<number>()
  const source = { elapsed: () => clock.elapsed, isDead: ({ pid }: { pid: number }) => dead.has(pid) }

  async function claimAs(id: string, pid: number) {
    await store.submitTask({ id, description: 'd' })
    return (await store.claimThisDispatch(id, 1, { holder: { ...other, pid }, worker: 'w' }))!
  }

  const idsOf = (dispatches: readonly Dispatch[]) => dispatches.map(({ task }) => task)

  it('ends a claim that was not renewed for half a minute, and no other one', async () => {
    clock.elapsed = 0
    const look = watchClaims(store, source)
    const one = await claimAs('renewed', 1)
    await claimAs('abandoned', 2)
    expect(idsOf(await look())).toEqual([])
    clock.elapsed = 29_000
    expect(idsOf(await look())).toEqual([])
    await new Promise(resolve => setTimeout(resolve, 2))
    await store.renewDispatch(one.claim)
    clock.elapsed = 30_000
    expect(idsOf(await look())).toEqual(['abandoned'])
    expect((await store.getDispatch('renewed', 1)).status).toBe('running')
  })

  it('ends the claim of a dead process of this host at once', async () => {
    await claimAs('dead', 7)
    await claimAs('alive', 8)
    dead.add(7)
    expect(idsOf(await watchClaims(store, source)())).toEqual(['dead'])
  })

  it('ends no claim because a clock has jumped', async () => {
    const wall = { now: Date.now() }
    const jumping = await openStore(':memory:', {
      source: { now: () => wall.now, uuid: () => crypto.randomUUID() },
    })
    clock.elapsed = 0
    const look = watchClaims(jumping, source)
    await jumping.submitTask({ id: 't', description: 'd' })
    await jumping.claimDispatch({ holder: other, worker: 'w' })
    await look()
    wall.now += 3_600_000
    clock.elapsed = 10_000
    expect(await look()).toEqual([])
    wall.now -= 7_200_000
    clock.elapsed = 20_000
    expect(await look()).toEqual([])
    await jumping.close()
  })

  it('begins again after the store was away: the holders could not renew either', async () => {
    clock.elapsed = 0
    let isAway = false
    const flaky = {
      reclaimDispatch: store.reclaimDispatch,
      listRunningDispatches: async () => {
        if (isAway) throw new UnavailableError('away')
        return store.listRunningDispatches()
      },
    }
    const look = watchClaims(flaky, source)
    await claimAs('t', 3)
    await look()
    isAway = true
    clock.elapsed = 20_000
    await expect(look()).rejects.toThrow('away')
    isAway = false
    clock.elapsed = 60_000
    expect(await look()).toEqual([])
    clock.elapsed = 90_000
    expect(idsOf(await look())).toEqual(['t'])
  })

  it('leaves the claims of living processes of this host alone', async () => {
    await store.submitTask({ id: 'mine', description: 'd' })
    await store.claimDispatch({ holder: thisHolder(), worker: 'w' })
    expect(await watchClaims(store, source)()).toEqual([])
  })
})
