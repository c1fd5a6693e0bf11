/**
 * `skein/server`: conversations behind HTTP. `createService` makes the service from stores, agents and
 * tokens; `listen` serves it with Node. `skein serve` is built on both.
 */

// - `service.ts`: the service; `listen.ts`: a server of Node around it
// - `http/`: what every request passes: host, origin, token, scope, limits, problem details, metrics
// - `routes/`: one file per resource; `turns/`: turns that run in this process; `follow/`: live events
// May import core, system, context, formats, recorder, agent and api. It receives stores and opens none.

export type { ServiceLimits, ServiceOptions, ServiceStore, ServiceTasks } from './http/service-options.ts'
export { defaultPort, type Listening, type ListenOptions, listen } from './listen.ts'
export { type ConnectionInfo, createService, type Service } from './service.ts'
