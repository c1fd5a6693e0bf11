import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { Agent } from '../../agent/agent.ts'
import type { AccessToken, TokenKeeper } from '../../core/access-token.ts'
import type { ApprovalKeeper } from '../../core/approval.ts'
import type { ConditionalWriter } from '../../core/conditional-writer.ts'
import type { Follower } from '../../core/follow.ts'
import type { Searcher } from '../../core/listing.ts'
import type { Maintainer } from '../../core/maintainer.ts'
import type { Meter } from '../../core/measure.ts'
import type { OverviewReader } from '../../core/overview.ts'
import type { PathSectionReader } from '../../core/path-section.ts'
import type {
  ConversationReader,
  ConversationWriter,
  Deleter,
  Lister,
  MessageReader,
} from '../../core/ports.ts'
import type { RecordMover } from '../../core/record.ts'
import type { TaskKeeper } from '../../core/task.ts'
import type { TurnWriter } from '../../core/turn-writer.ts'

/** What the service does with tasks. Workers run them. */
export type ServiceTasks = Pick<
  TaskKeeper,
  | 'submitTask'
  | 'dispatchTask'
  | 'cancelTask'
  | 'retryTask'
  | 'getTask'
  | 'listTasks'
  | 'getDispatch'
  | 'listDispatches'
  | 'countTasks'
  | 'deleteTask'
  | 'deleteProject'
>

/** The ports of a store that the service needs. */
export type ServiceStore = ConversationReader &
  MessageReader &
  ConversationWriter &
  ConditionalWriter &
  Lister &
  Searcher &
  Deleter &
  RecordMover &
  Meter &
  OverviewReader &
  PathSectionReader &
  Follower &
  ApprovalKeeper &
  Pick<TurnWriter, 'addEvents' | 'endTurn'> &
  ServiceTasks &
  Pick<Maintainer, 'sweep' | 'schemaVersion'>

/** Limits of the service. */
export interface ServiceLimits {
  /** Most bytes of a JSON body, and of one record of an import. Default: 32 MiB. */
  readonly bodyBytes: number
  /** Most milliseconds until a JSON body has arrived. Default: 30,000. */
  readonly bodyMs: number
  /** Most turns that run at the same time in this process. Default: 20. */
  readonly maxTurns: number
  /** Wrong tokens that one address may send in a minute. Default: 20. */
  readonly wrongTokens: number
  /** Milliseconds for which a found token is not looked up again. A revoked token works at most so long.
   *  Default: 2,000. */
  readonly tokenCacheMs: number
  /** Milliseconds that another process of the service gets to stop a turn. Default: 5,000. */
  readonly stopMs: number
  /** Milliseconds that running turns get to finish when the service closes. Default: 30,000. */
  readonly closeMs: number
}

/** The limits of a service that sets none. */
export const defaultServiceLimits: ServiceLimits = {
  bodyBytes: 32 * 1_048_576,
  bodyMs: 30_000,
  maxTurns: 20,
  wrongTokens: 20,
  tokenCacheMs: 2_000,
  stopMs: 5_000,
  closeMs: 30_000,
}

/** What a service is made of. */
export interface ServiceOptions {
  /** The store of a tenant. The service borrows it and does not close it. */
  storeOf(tenant: string): Promise<ServiceStore>
  /** Where tokens are looked up, of any tenant. */
  readonly tokens: Pick<TokenKeeper, 'findToken'>
  /** The agent that answers `POST …/turns` of a tenant, with the named model or the default one. The service
   *  borrows it. There is no person to ask: give it only tools that may run unattended. Default: the service
   *  asks no models. */
  readonly agentOf?: (tenant: string, model?: string) => Promise<Pick<Agent, 'send' | 'resume'>>
  /** Answers requests to `/mcp`, after host, origin and token have been checked. The token has at least the
   *  scope `read`. Default: there is nothing at that address. */
  readonly mcp?: (request: Request, token: Pick<AccessToken, 'tenant' | 'scopes'>) => Promise<Response>
  /** The address under which clients know the service: `https://skein.example.org`. Default: loopback
   *  names. */
  readonly publicUrl?: string
  /** Further host names under which it may be addressed. Default: none. */
  readonly hosts?: readonly string[]
  /** Where requests are logged, without contents. Default: nowhere. */
  readonly log?: Pick<Logger, 'info' | 'warn' | 'error'> | null
  /** Where metrics are registered. Default: a registry of its own. */
  readonly metrics?: Registry
  /** Milliseconds since 1970. Default: the clock of the machine. */
  readonly now?: () => number
  /** How often expired conversations are swept, in milliseconds. Default: never. */
  readonly sweepMs?: number
  /** Tenants that are swept even before a request opens their store. Default: none. */
  readonly tenants?: readonly string[]
  /** Limits that differ from the defaults. */
  readonly limits?: Partial<ServiceLimits>
}
