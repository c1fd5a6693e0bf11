import { hostname } from 'node:os'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { Config } from '../../config/config.ts'
import type { DispatchEvent } from '../../dispatch/dispatch-event.ts'
import type { Args } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { configuredDispatch } from '../dispatch/configured-dispatch.ts'
import { mayRunUnattended } from './served-agents.ts'

/** Workers in the process of the service. */
export interface ServedWorkers {
  /** Claims nothing more. What runs may end within 30 seconds, and is given back after that. */
  stop(): Promise<void>
}

/** What the workers of a service share with it. */
export interface ServedWorkersOptions {
  readonly workers: number
  readonly config: Config
  readonly registry: Registry
  readonly log: Pick<Logger, 'info' | 'warn'> | null
}

/** How long dispatches may still run when the service stops. */
const finishWithinMs = 30_000

/** Starts workers that do the queued tasks of the command's own store, with the tools that may run
 *  unattended. The service sweeps, so they do not. */
export async function startServedWorkers(
  args: Args,
  context: CommandContext,
  { workers, config, registry, log }: ServedWorkersOptions,
): Promise<ServedWorkers> {
  const [{ createWorker }, { dispatchMetrics }] = await Promise.all([
    import('../../dispatch/worker.ts'),
    import('../../dispatch/dispatch-metrics.ts'),
  ])
  const { options, close } = await configuredDispatch(args, context, mayRunUnattended(config))
  const count = await dispatchMetrics(registry)
  const worker = createWorker({
    ...options,
    workers,
    name: `serve-${hostname()}-${process.pid}`,
    onEvent: event => {
      count(event)
      if (log) logEvent(log, event)
    },
  })
  return {
    async stop() {
      await worker.stop({ finishWithinMs })
      await close()
    },
  }
}

/** Logs without contents. */
function logEvent(log: Pick<Logger, 'info' | 'warn'>, event: DispatchEvent): void {
  if (event.type === 'started') log.info({ task: event.task.id, n: event.dispatch.n }, 'dispatch started')
  if (event.type === 'ended') {
    const { task, n, status } = event.dispatch
    log.info({ task, n, status, ms: Math.round(event.ranMs) }, 'dispatch ended')
  }
  if (event.type === 'released' || event.type === 'lost')
    log.warn({ task: event.task.id, n: event.n }, `dispatch ${event.type}`)
  if (event.type === 'reclaimed')
    log.warn({ task: event.dispatch.task, n: event.dispatch.n }, 'claim of a dead worker ended')
  if (event.type === 'trouble') {
    const { what, error } = event
    log.warn(
      { what, code: error instanceof Error && 'code' in error ? error.code : null },
      'dispatch trouble',
    )
  }
}
