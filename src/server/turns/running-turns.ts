import type { Agent } from '../../agent/agent.ts'
import type { AgentEvent } from '../../agent/run/events.ts'
import type { Run } from '../../agent/run/run.ts'
import type { BranchRef } from '../../core/branch.ts'
import { BusyError } from '../../core/errors.ts'
import type { NewMessage } from '../../core/message.ts'
import type { MessageReader } from '../../core/ports.ts'
import { HttpError, shuttingDown } from '../http/http-error.ts'
import { type StopRequestReader, type StopRequests, stopPollMs, stopRequests } from './stop-requests.ts'

/** A turn to start. */
export interface TurnStart {
  /** The tenant of the caller. Turns of tenants are kept apart. */
  readonly tenant: string
  /** The branch to continue. */
  readonly branch: BranchRef
  /** The key of the turn. The same key again returns the same turn. */
  readonly key: string
  /** The message of the user. Null to continue an interrupted turn. */
  readonly message: NewMessage | null
  /** Answers. */
  readonly agent: Pick<Agent, 'send' | 'resume'>
  /** Where other processes ask to stop the turn. */
  readonly store: StopRequestReader & Pick<MessageReader, 'findTurn'>
  /** The request that started it, for the log. */
  readonly requestId: string
}

/** A turn that runs in this process. It continues when its readers are gone. */
export interface RunningTurn {
  /** The key of the turn. */
  readonly key: string
  /** The branch that it writes to. */
  readonly branch: BranchRef
  /** Its events from the beginning. Any number of readers may iterate. */
  readonly events: AsyncIterable<AgentEvent>
}

/** The turns that run in this process. */
export interface RunningTurns {
  /** Throws HttpError if no further turn can start. */
  checkRoom(): void
  /** Starts a turn, and returns when its prompt is stored. Throws HttpError if too many turns run, and
   *  BusyError if another turn runs on the branch. */
  start(turn: TurnStart): Promise<RunningTurn>
  /** Whether the turn runs here. */
  isRunning(tenant: string, conversationId: string, key: string): boolean
  /** Stops a turn, keeps what has arrived, and returns when it is stored. False if it does not run here. */
  stop(tenant: string, conversationId: string, key: string): Promise<boolean>
  /** Refuses new turns, waits for the running ones, and stops those that need longer. */
  close(withinMs: number): Promise<void>
}

interface Entry {
  readonly turn: TurnStart
  readonly started: Promise<RunningTurn>
  run: Run | null
  /** The stop requests of other processes. */
  readonly requests: StopRequests
}

/** How many turns may run, and who is told. */
export interface RunningTurnsOptions {
  /** Most turns at the same time. */
  readonly most: number
  /** Called with their number when it changes. */
  onCount(count: number): void
  /** Called if a turn fails after its prompt was stored. Its request may have been answered long ago. */
  onFailed(turn: TurnStart, error: unknown): void
}

/** Keeps the running turns. */
export function createRunningTurns({ most, onCount, onFailed }: RunningTurnsOptions): RunningTurns {
  const running = new Map<string, Entry>()
  let isClosing = false
  let isWatching = false

  /** Looks for stop requests of other processes while turns run. */
  function watch(): void {
    if (isWatching) return
    isWatching = true
    setTimeout(async () => {
      await Promise.all([...running.values()].map(stopIfRequested))
      isWatching = false
      if (running.size > 0) watch()
    }, stopPollMs).unref()
  }

  async function stopIfRequested({ run, requests }: Entry): Promise<void> {
    if (run && (await requests.hasNew())) run.abort(new DOMException('stopped by a client', 'AbortError'))
  }

  function checkRoom(): void {
    if (isClosing) throw shuttingDown()
    if (running.size >= most) {
      const hint = 'Wait until a turn has ended. server.max_turns of skein.yaml is the limit of a process.'
      const facts = { retryAfter: 2, members: { max_turns: most }, hint }
      throw new HttpError('too_many_requests', 'too many turns are running', facts)
    }
  }

  /** The turn that runs on the same branch. */
  function rivalOf({ tenant, branch }: TurnStart): Entry | undefined {
    for (const entry of running.values())
      if (entry.turn.tenant === tenant && isSameBranch(entry.turn.branch, branch)) return entry
    return undefined
  }

  async function begin(entry: Entry, name: string): Promise<RunningTurn> {
    const { branch, key, message, agent } = entry.turn
    const leave = () => {
      running.delete(name)
      onCount(running.size)
    }
    try {
      await entry.requests.skipEarlier()
      const options = { onBusy: 'refuse' } as const
      const run =
        message === null ? agent.resume(branch, options) : agent.send(branch, message, { key, ...options })
      entry.run = run
      run.result().then(leave, leave)
      for await (const event of run) {
        if (event.type !== 'started') continue
        // A failure before this point is the failure of the request.
        run.result().catch(error => onFailed(entry.turn, error))
        return { key, branch: event.branch ?? branch, events: run }
      }
      return { key, branch, events: run }
    } catch (error) {
      leave()
      throw error
    }
  }

  return {
    checkRoom,
    async start(turn) {
      const name = nameOf(turn.tenant, turn.branch.conversationId, turn.key)
      for (;;) {
        const same = running.get(name)
        if (same) return same.started
        const rival = rivalOf(turn)
        if (!rival) break
        await afterEnd(rival)
      }
      checkRoom()
      const { promise, resolve, reject } = Promise.withResolvers<RunningTurn>()
      const requests = stopRequests(turn.store, turn.branch.conversationId, turn.key)
      const entry: Entry = { turn, started: promise, run: null, requests }
      running.set(name, entry)
      onCount(running.size)
      watch()
      begin(entry, name).then(resolve, reject)
      return promise
    },
    isRunning: (tenant, conversationId, key) => running.has(nameOf(tenant, conversationId, key)),
    async stop(tenant, conversationId, key) {
      const entry = running.get(nameOf(tenant, conversationId, key))
      if (!entry) return false
      await entry.started.catch(() => undefined)
      entry.run?.abort(new DOMException('stopped by a client', 'AbortError'))
      await entry.run?.result().catch(() => undefined)
      return true
    },
    async close(withinMs) {
      isClosing = true
      const runs = () => [...running.values()].flatMap(({ run }) => (run ? [run] : []))
      const ended = () => Promise.allSettled(runs().map(run => run.result()))
      await within(withinMs, ended())
      for (const run of runs()) run.abort(new DOMException('the service is shutting down', 'AbortError'))
      await ended()
    },
  }
}

/** Throws BusyError if a turn is being answered. If its end is in the store, a client may have seen it: waits
 *  until this process has, too. */
async function afterEnd({ turn: { branch, key, store }, run }: Entry): Promise<void> {
  const { conversationId, name } = branch
  const stored = await store.findTurn(conversationId, key)
  if (run && stored && stored.status !== 'open') {
    await run.result().catch(() => undefined)
    return
  }
  const address = `/api/v1/conversations/${conversationId}/turns/${encodeURIComponent(key)}`
  const hint = `A question of this service is being answered. Wait for its end, or stop it: DELETE ${address}`
  throw new BusyError(`branch ${JSON.stringify(name)}`, null, stored?.leaseUntil ?? null, { hint })
}

function nameOf(tenant: string, conversationId: string, key: string): string {
  return JSON.stringify([tenant, conversationId, key])
}

function isSameBranch(a: BranchRef, b: BranchRef): boolean {
  return a.conversationId === b.conversationId && a.name === b.name
}

async function within(ms: number, work: Promise<unknown>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  await Promise.race([work, promise])
  clearTimeout(timer)
}
