import { SkeinError } from '../../core/errors.ts'
import type { BatchResult } from './batch.ts'
import { type BoundStatement, bind, prepare } from './prepared.ts'

/** Runs statements as a transaction of their own, in one round trip. */
type SendOnce = (statements: readonly BoundStatement[]) => Promise<readonly BatchResult[]>

/** Runs the statements of an append, and returns their results after the commit. */
export type SendAppend = (
  conversation: string,
  statements: readonly BoundStatement[],
) => Promise<readonly BatchResult[]>

/** Requests with appends at once. Four of the ten connections of a pool stay free for other calls. */
const mostRequests = 6

/** Most appends in one request, and most bytes of their values. */
const mostTogether = 8
const mostBytes = 262_144

/** After so long, an append is sent in addition to the requests that run: they may wait for a lock. */
const patienceMs = 100

/** A conversation that is locked for longer must not delay the others of its request. Shorter than the time
 *  after which the server looks for deadlocks, with transactions that lock in another order. */
const limitLocks = bind(prepare(`SELECT set_config('lock_timeout', '30ms', true)`, 'limitLocks'), {})

interface WaitingAppend {
  readonly conversation: string
  readonly statements: readonly BoundStatement[]
  readonly resolve: (results: readonly BatchResult[]) => void
  readonly reject: (error: unknown) => void
}

/** Sends each append at once, as long as few are under way. Those that follow wait until a request ends, and
 *  share the next one with its commit. An append that is refused writes nothing and fails no other. If a
 *  statement fails, the request is undone, and its appends are sent one by one. */
export function appendQueue(send: SendOnce): SendAppend {
  const waiting: WaitingAppend[] = []
  let requests = 0
  let timer: NodeJS.Timeout | null = null
  return (conversation, statements) => {
    if (requests < mostRequests) return counted(() => send(statements))
    return new Promise((resolve, reject) => {
      waiting.push({ conversation, statements, resolve, reject })
      timer ??= setTimeout(sendAll, patienceMs)
    })
  }

  async function counted<T>(request: () => Promise<T>): Promise<T> {
    requests++
    try {
      return await request()
    } finally {
      requests--
      if (waiting.length > 0) sendNext()
    }
  }

  function sendNext(): void {
    const group = waiting.splice(0, groupSize(waiting))
    if (waiting.length === 0 && timer !== null) {
      clearTimeout(timer)
      timer = null
    }
    void counted(() => sendGroup(group))
  }

  function sendAll(): void {
    timer = null
    while (waiting.length > 0) sendNext()
  }

  /** Does not throw: each append has its own result or error. */
  async function sendGroup(group: readonly WaitingAppend[]): Promise<void> {
    if (group.length === 1) return sendAlone(group[0]!)
    // All requests lock conversations in the same order, so that they do not wait for each other in a circle.
    const inOrder = group.toSorted((a, b) => compare(a.conversation, b.conversation))
    try {
      const results = await send([limitLocks, ...inOrder.flatMap(({ statements }) => statements)])
      let from = 1
      for (const { statements, resolve } of inOrder) {
        resolve(results.slice(from, from + statements.length))
        from += statements.length
      }
    } catch (error) {
      // The connection failed, or the outcome is unknown. The errors of statements are not translated yet.
      if (error instanceof SkeinError) for (const { reject } of group) reject(error)
      else await Promise.all(group.map(sendAlone))
    }
  }

  function sendAlone({ statements, resolve, reject }: WaitingAppend): Promise<void> {
    return send(statements).then(resolve, reject)
  }
}

/** How many of the first appends share a request. */
function groupSize(waiting: readonly WaitingAppend[]): number {
  let bytes = 0
  let size = 0
  while (size < Math.min(waiting.length, mostTogether)) {
    for (const { values } of waiting[size]!.statements)
      for (const value of values) bytes += value?.length ?? 0
    if (size > 0 && bytes > mostBytes) break
    size++
  }
  return size
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
