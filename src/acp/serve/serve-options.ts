import type { AgentOptions, AgentStore } from '../../agent/options.ts'
import type { NonEmpty } from '../../core/message.ts'
import type { Model, ModelOptions } from '../../core/model.ts'
import type { Deleter, Lister } from '../../core/ports.ts'

/** The part of a store that our agent needs when clients manage sessions through it. */
export type ServeStore = AgentStore & Pick<Lister, 'listConversations'> & Pick<Deleter, 'trash'>

/** A model that a client can choose. */
export interface OfferedModel {
  /** Provider and name: `anthropic/claude-sonnet-5-5`. */
  readonly id: string
  /** The name for people. */
  readonly name: string
}

/** The parts of an agent, except its store. */
export type AgentParts = ModelOptions &
  Pick<AgentOptions, 'tools' | 'system' | 'window' | 'strategy'> & { readonly model: Model }

/** What `serve` needs. It does not close the store. */
export interface ServeOptions {
  readonly store: ServeStore
  readonly version: string
  /** Identifies the store: a proxy of ours in front of this agent then stores nothing itself. */
  readonly storeId?: string
  /** The models to choose from. Default: the first. */
  readonly models: NonEmpty<OfferedModel>
  /** Opens one of the models. Throws an error for people, for example if a key is missing. */
  agentParts(model: string): Promise<AgentParts>
  /** Writes to the log: stdout belongs to the protocol. */
  log(line: string): void
}
