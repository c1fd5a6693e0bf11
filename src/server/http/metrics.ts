import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { ReadOnlyError } from '../../core/errors.ts'
import type { Measured } from '../../core/measure.ts'
import { type TaskCounts, type TaskStatus, taskStatuses } from '../../core/task.ts'
import type { ServiceStore } from './service-options.ts'

/** The figures of a service. No label contains content, keys or ids of conversations. */
export interface ServiceMetrics {
  /** Counts a request and its duration, by route. */
  request(method: string, route: string, status: number, seconds: number): void
  /** A store whose operations are timed. */
  timed(store: ServiceStore): ServiceStore
  /** Counts how a caller got its conversation: `found` or `created` by its key, `interrupted_turn` if a turn
   *  continued. */
  resumed(outcome: 'found' | 'created' | 'interrupted_turn'): void
  /** Counts conversations that a sweep moved to the trash. */
  expired(count: number): void
  /** The number of turns that run in this process. */
  openTurns(count: number): void
  /** The number of connections that follow conversations. */
  followers(count: number): void
  /** The text of `/metrics`. */
  text(): Promise<{ readonly text: string; readonly mediaType: string }>
}

const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** How long a measurement of the stores is reported again. */
const measureMs = 15_000

/** Registers the figures. `stores` returns the stores that the service has used, by tenant. */
export function createMetrics(
  registry: Registry = new Registry(),
  stores: () => readonly Pick<ServiceStore, 'measure' | 'countTasks'>[],
  now: () => number,
): ServiceMetrics {
  const registers = [registry]
  const requests = new Counter({
    name: 'skein_http_requests_total',
    help: 'Requests by method, route and status',
    labelNames: ['method', 'route', 'status'],
    registers,
  })
  const seconds = new Histogram({
    name: 'skein_http_request_seconds',
    help: 'Time until the response has begun',
    labelNames: ['method', 'route'],
    buckets,
    registers,
  })
  const operations = new Histogram({
    name: 'skein_store_seconds',
    help: 'Time of operations of the store',
    labelNames: ['operation'],
    buckets,
    registers,
  })
  const failures = new Counter({
    name: 'skein_store_failures_total',
    help: 'Operations of the store that failed, by code',
    labelNames: ['operation', 'code'],
    registers,
  })
  const resumes = new Counter({
    name: 'skein_resumes_total',
    help: 'How callers got a conversation: found or created by key, or an interrupted turn continued',
    labelNames: ['outcome'],
    registers,
  })
  const expirations = new Counter({
    name: 'skein_expirations_total',
    help: 'Conversations that expired and were moved to the trash by this process',
    registers,
  })
  const turns = new Gauge({ name: 'skein_open_turns', help: 'Turns that run in this process', registers })
  const following = new Gauge({ name: 'skein_followers', help: 'Connections that follow', registers })
  const contents = contentGauges(registers)
  const tasks = taskGauge(registers)
  let measuredAt = Number.NEGATIVE_INFINITY

  return {
    request(method, route, status, time) {
      requests.inc({ method, route, status })
      seconds.observe({ method, route }, time)
    },
    timed: store =>
      timedStore(store, (operation, time, code) => {
        operations.observe({ operation }, time)
        if (code !== null) failures.inc({ operation, code })
      }),
    resumed: outcome => resumes.inc({ outcome }),
    expired: count => expirations.inc(count),
    openTurns: count => turns.set(count),
    followers: count => following.set(count),
    async text() {
      if (now() - measuredAt >= measureMs) {
        measuredAt = now()
        const since = new Date(now())
        contents.set(await Promise.all(stores().map(store => store.measure(since))))
        tasks.set(await Promise.all(stores().map(countTasks)))
      }
      return { text: await registry.metrics(), mediaType: registry.contentType }
    },
  }
}

/** Sums over the tenants that this process has served since it started. */
function contentGauges(registers: Registry[]): { set(measured: readonly Measured[]): void } {
  const conversations = new Gauge({
    name: 'skein_conversations',
    help: 'Conversations outside the trash',
    registers,
  })
  const messages = new Gauge({ name: 'skein_messages', help: 'Messages outside the trash', registers })
  const tokens = new Gauge({
    name: 'skein_tokens',
    help: 'Tokens that providers have charged, by model and kind',
    labelNames: ['model', 'kind'],
    registers,
  })
  const cost = new Gauge({
    name: 'skein_cost_dollars',
    help: 'Cost that turns have reported, in US dollars, by model',
    labelNames: ['model'],
    registers,
  })
  return {
    set(measured) {
      conversations.set(measured.reduce((sum, one) => sum + one.conversations, 0))
      messages.set(measured.reduce((sum, one) => sum + one.messages, 0))
      tokens.reset()
      cost.reset()
      for (const { model, input, output, cost: dollars } of measured.flatMap(({ usage }) => usage)) {
        const name = model ?? 'none'
        tokens.inc({ model: name, kind: 'input' }, input)
        tokens.inc({ model: name, kind: 'output' }, output)
        cost.inc({ model: name }, dollars)
      }
    },
  }
}

/** An old file that cannot be written has no tasks. */
async function countTasks(store: Pick<ServiceStore, 'countTasks'>): Promise<TaskCounts> {
  try {
    return await store.countTasks()
  } catch (error) {
    if (!(error instanceof ReadOnlyError)) throw error
    return Object.fromEntries(taskStatuses.map(status => [status, 0])) as Record<TaskStatus, number>
  }
}

/** Sums over the tenants that this process has served since it started. */
function taskGauge(registers: Registry[]): { set(counts: readonly TaskCounts[]): void } {
  const tasks = new Gauge({
    name: 'skein_tasks',
    help: 'Tasks by status; queued: they wait for a worker',
    labelNames: ['status'],
    registers,
  })
  return {
    set(counts) {
      for (const status of taskStatuses)
        tasks.set(
          { status },
          counts.reduce((sum, one) => sum + one[status], 0),
        )
    },
  }
}

/** A store that reports the time and the error code of each operation that returns a promise. */
function timedStore(
  store: ServiceStore,
  report: (operation: string, seconds: number, code: string | null) => void,
): ServiceStore {
  const timed = Object.create(store) as Record<string, unknown>
  for (const name of methodsOf(store)) {
    const method = (store as unknown as Record<string, unknown>)[name]
    if (typeof method !== 'function') continue
    timed[name] = (...given: unknown[]) => {
      const start = performance.now()
      const result: unknown = method.apply(store, given)
      if (name === 'ifVersion') return timedStore(result as ServiceStore, report)
      if (!(result instanceof Promise)) return result
      const end = (code: string | null) => report(name, (performance.now() - start) / 1_000, code)
      result.then(
        () => end(null),
        (error: unknown) => end(codeOf(error)),
      )
      return result
    }
  }
  return timed as unknown as ServiceStore
}

function methodsOf(store: object): readonly string[] {
  const names = new Set<string>()
  for (let part = store; part && part !== Object.prototype; part = Object.getPrototypeOf(part) as object)
    for (const name of Object.getOwnPropertyNames(part)) if (name !== 'constructor') names.add(name)
  return [...names]
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'failure'
}
