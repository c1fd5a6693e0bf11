import type { AgentOptions, AgentStore } from '../../agent/options.ts'
import type { NonEmpty } from '../../core/message.ts'
import type { Deleter, Lister } from '../../core/ports.ts'

/** What our agent needs of a store, when clients see to their sessions through it. */
export type ServeStore = AgentStore & Pick<Lister, 'listConversations'> & Pick<Deleter, 'trash'>

/** A model that a client can choose. */
export interface OfferedModel {
  /** Provider and name: `anthropic/claude-sonnet-5-5`. */
  readonly id: string
  /** As people call it. */
  readonly name: string
}

/** Who answers: what an agent is made of, besides its store. */
export type AgentParts = Pick<AgentOptions, 'model' | 'tools' | 'system' | 'window' | 'strategy'>

/** What is served: a store that is lent, and whoever makes agents. */
export interface ServeOptions {
  readonly store: ServeStore
  readonly version: string
  /** What a client can choose from. The first answers unless another is chosen. */
  readonly models: NonEmpty<OfferedModel>
  /** Opens one of the models. Throws what a person can be told: a key is missing. */
  speaking(model: string): Promise<AgentParts>
  /** For people who read the log: standard output belongs to the protocol. */
  log(line: string): void
}
