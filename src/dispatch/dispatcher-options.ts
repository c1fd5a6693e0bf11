import type { AgentOptions, AgentStore } from '../agent/options.ts'
import { checkFunction, checkMethod, checkObject } from '../core/check.ts'
import type { ConversationWriter } from '../core/ports.ts'
import type { Dispatch, Task, TaskKeeper } from '../core/task.ts'
import type { TurnWriter } from '../core/turn-writer.ts'
import type { DispatchEvent } from './dispatch-event.ts'
import { type DispatchSource, systemDispatchSource } from './dispatch-source.ts'
import type { TaskExpiry } from './task-conversation.ts'

/** The ports of a store that a dispatcher needs for the conversations of tasks. */
export type DispatchStore = AgentStore &
  Pick<ConversationWriter, 'findOrCreateByTask'> &
  Pick<TurnWriter, 'addEvents'>

/** The agent that works on a task: a model with its system prompt, tools and options. The dispatcher adds the
 *  store. */
export interface DispatchAgent extends Omit<AgentOptions, 'store' | 'history'> {
  /** Its name in results and in the metadata of conversations. Default: `agent`. */
  readonly id?: string
}

/** What a dispatcher is made of. */
export interface DispatcherOptions {
  /** Stores the conversations of the tasks. */
  readonly store: DispatchStore
  /** Keeps the tasks and their queue. Usually the same store. */
  readonly tasks: TaskKeeper
  /** Chooses the agent for a dispatch. */
  readonly agentFor: (task: Task, dispatch: Dispatch) => DispatchAgent | Promise<DispatchAgent>
  /** How long a conversation is continued. Default: 24 hours after the last activity. */
  readonly expiry?: TaskExpiry
  /** Whether the tasks of a project have conversations. Without one, each dispatch is a single request, and
   *  only its result is stored. Default: all have. */
  readonly storesConversations?: (project: string | null) => boolean
  /** The longest time that a dispatch may run, in milliseconds. Default: one hour. */
  readonly timeoutMs?: number
  /** How long a result is kept while the store cannot be reached, in milliseconds. Default: five minutes. */
  readonly retryMs?: number
  /** How long the end of a dispatch waits for messages that could not be stored, in milliseconds. Default:
   *  one minute. */
  readonly saveWithinMs?: number
  /** How long an agent may take to stop, in milliseconds. Default: 5,000. */
  readonly abortWithinMs?: number
  /** Receives what happens, for logs, metrics and progress. */
  readonly onEvent?: (event: DispatchEvent) => void
}

/** The options with their defaults. */
export interface DispatcherState extends Required<Omit<DispatcherOptions, 'onEvent'>> {
  readonly onEvent: (event: DispatchEvent) => void
  readonly source: DispatchSource
}

/** Adds the defaults. */
export function dispatcherState(
  options: DispatcherOptions,
  source: DispatchSource = systemDispatchSource,
): DispatcherState {
  checkObject(options, 'options')
  checkMethod(options.store, 'store', 'append', 'a store, such as openStore() returns')
  checkMethod(options.tasks, 'tasks', 'claimDispatch', 'a keeper of tasks, such as a store')
  checkFunction(options.agentFor, 'agentFor')
  return {
    expiry: {},
    storesConversations: () => true,
    timeoutMs: 3_600_000,
    retryMs: 300_000,
    saveWithinMs: 60_000,
    abortWithinMs: 5_000,
    onEvent: () => undefined,
    ...options,
    source,
  }
}
