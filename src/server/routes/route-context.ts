import type { ServiceMetrics } from '../http/metrics.ts'
import type { ServiceLimits, ServiceOptions } from '../http/service-options.ts'
import type { RunningTurns } from '../turns/running-turns.ts'

/** What the routes of a service share. */
export interface RouteContext {
  /** The agents, if the service has any. */
  readonly agentOf: ServiceOptions['agentOf']
  /** The turns that run in this process. */
  readonly turns: RunningTurns
  /** The figures of the service. */
  readonly metrics: ServiceMetrics
  /** The limits of the service. */
  readonly limits: ServiceLimits
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** Aborted when the service begins to shut down. Followers end then, and their clients reconnect. */
  readonly closing: AbortSignal
}
