import type { Agent } from '../../agent/agent.ts'
import type { ConversationLinks } from '../../core/conversation.ts'
import type { Searcher } from '../../core/listing.ts'
import type { OverviewReader } from '../../core/overview.ts'
import type { ConversationReader, ConversationWriter, Lister, MessageReader } from '../../core/ports.ts'

/** The ports of a store that an endpoint needs. */
export type McpEndpointStore = ConversationReader &
  MessageReader &
  Lister &
  Searcher &
  OverviewReader &
  ConversationWriter

/** The conversations that an endpoint shows. */
export interface McpScope {
  /** The directories of the project, read for each call. Null: the whole store is the project. Default:
   *  null. */
  readonly directories?: () => Promise<readonly string[] | null>
  /** Whether conversations of other directories are shown, too. A call with `all: false` leaves them out.
   *  Default: false. */
  readonly all?: boolean
  /** Only conversations of this channel. A key prefix such as `discord:dm` narrows it further. Direct
   *  messages are shown only if they are named in this way. Default: every channel. */
  readonly channel?: string | null
  /** Only this conversation: its id, the beginning of its id, or a key. Default: all of the scope. */
  readonly conversation?: string | null
}

/** The conversation that `remember` writes to. */
export interface McpNotes {
  /** Finds the conversation. Without one, it is created with the links. */
  readonly key: string
  /** What a new conversation belongs to. */
  readonly links?: Partial<ConversationLinks>
}

/** The agent behind `ask`. */
export interface McpAgent {
  /** The name in the labels of its runs. */
  readonly name: string
  /** What it does, for the model that calls it. Default: only its name. */
  readonly description?: string
  /** Opens the agent with the first task. The opener closes it. It must not have this endpoint as a tool. */
  open(): Promise<Pick<Agent, 'send'>>
  /** What a run belongs to, if its caller is unknown. */
  readonly links?: Partial<ConversationLinks>
}

/** What an endpoint is made of. */
export interface McpEndpointOptions {
  /** The store, asked for with each call: one that is away may be back the next time. The endpoint borrows
   *  it. For `read`, a store that does not exist may be an empty one. */
  store(purpose: 'read' | 'write'): Promise<McpEndpointStore>
  /** Default: the whole store, without direct messages. */
  readonly scope?: McpScope
  /** Offers `remember` and `label_message`. Default: the tools only read. */
  readonly notes?: McpNotes | null
  /** Offers `ask`. Default: there is no agent. */
  readonly agent?: McpAgent | null
  /** Receives errors of a transport, for a log. Default: they are dropped. */
  readonly onError?: (error: Error) => void
}
