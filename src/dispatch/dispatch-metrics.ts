import type { Registry } from 'prom-client'
import type { DispatchEvent } from './dispatch-event.ts'

const buckets = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600]

/** Registers the figures of the workers of this process, and returns a function that updates them with each
 *  event: pass it as `onEvent`. The service reports the number of tasks in each state itself.
 *
 * @example
 * ```ts
 * import { Registry } from 'prom-client'
 * import { openStore } from 'skein'
 * import { createWorker, dispatchMetrics } from 'skein/dispatch'
 * import { scripted } from 'skein/models'
 *
 * await using store = await openStore(':memory:')
 * await store.submitTask({ description: 'Why is the login test flaky?' })
 * const registry = new Registry()
 * const onEvent = await dispatchMetrics(registry)
 * const agentFor = () => ({ model: scripted() })
 * await createWorker({ store, tasks: store, agentFor, onEvent, untilIdle: true }).ended
 * const text = await registry.metrics()
 * console.log(text.includes('skein_dispatches_total{status="done"} 1')) // true
 * ```
 */
export async function dispatchMetrics(registry: Registry): Promise<(event: DispatchEvent) => void> {
  const { Counter, Gauge, Histogram } = await import('prom-client')
  const registers = [registry]
  const running = new Gauge({
    name: 'skein_dispatches_running',
    help: 'Dispatches that run in this process',
    registers,
  })
  const ended = new Counter({
    name: 'skein_dispatches_total',
    help: 'Dispatches that ended in this process, by status; released: given back to the queue',
    labelNames: ['status'],
    registers,
  })
  const lost = new Counter({
    name: 'skein_dispatch_claims_lost_total',
    help: 'Claims of this process that another worker has taken',
    registers,
  })
  const reclaimed = new Counter({
    name: 'skein_dispatch_claims_ended_total',
    help: 'Claims of dead workers that this process has ended',
    registers,
  })
  const [queued, firstWord, ran] = (
    [
      ['skein_dispatch_queue_seconds', 'Time in the queue until the claim'],
      ['skein_dispatch_first_word_seconds', 'Time from the claim to the first word of the answer'],
      ['skein_dispatch_seconds', 'Time from the claim to the end'],
    ] as const
  ).map(([name, help]) => new Histogram({ name, help, buckets, registers }))
  const troubles = new Counter({
    name: 'skein_dispatch_store_failures_total',
    help: 'Operations of the store that failed and are tried again',
    registers,
  })
  for (const status of ['done', 'failed', 'cancelled', 'released']) ended.inc({ status }, 0)

  return event => {
    switch (event.type) {
      case 'started':
        running.inc()
        queued!.observe(event.queuedMs / 1_000)
        return
      case 'ended':
        running.dec()
        ended.inc({ status: event.dispatch.status })
        ran!.observe(event.ranMs / 1_000)
        if (event.firstWordMs !== null) firstWord!.observe(event.firstWordMs / 1_000)
        return
      case 'released':
        running.dec()
        ended.inc({ status: 'released' })
        return
      case 'lost':
        running.dec()
        lost.inc()
        return
      case 'reclaimed':
        reclaimed.inc()
        return
      case 'trouble':
        troubles.inc()
        return
    }
  }
}
