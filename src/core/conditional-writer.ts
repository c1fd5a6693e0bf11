import { SkeinError } from './errors.ts'
import type { ConversationId } from './ids.ts'
import type { ConversationWriter, Deleter } from './ports.ts'

/** The writes to one conversation that can be made conditional. */
export type ConditionalWrites = Pick<
  ConversationWriter,
  | 'updateConversation'
  | 'append'
  | 'createBranch'
  | 'renameBranch'
  | 'deleteBranch'
  | 'moveBranch'
  | 'activateBranch'
  | 'setKey'
  | 'reset'
> &
  Pick<Deleter, 'trash'>

/** Makes writes depend on the version of a conversation. */
export interface ConditionalWriter {
  /** Writes that succeed only while the conversation has this version, or one of these. Each compares it in
   *  its own transaction and throws PreconditionFailedError otherwise. A write that succeeds changes the
   *  version. The comparison comes first: a retry of an append that was stored is refused as well.
   *
   * @example
   * ```ts
   * import { openStore } from 'skein'
   * import { PreconditionFailedError } from 'skein/maintenance'
   *
   * await using store = await openStore(':memory:')
   * const { conversation } = await store.create({ title: 'Draft' })
   * const read = await store.versionOf(conversation.id)
   * await store.updateConversation(conversation.id, { title: 'Another writer' })
   * try {
   *   await store.ifVersion(conversation.id, read).updateConversation(conversation.id, { title: 'Mine' })
   * } catch (error) {
   *   if (error instanceof PreconditionFailedError) console.log(error.version > read) // true
   * }
   * ```
   */
  ifVersion(id: ConversationId, version: number | readonly number[]): ConditionalWrites
}

/** The conversation has changed since the caller read it: `ifVersion` was given another version. */
export class PreconditionFailedError extends SkeinError {
  /** Always `precondition_failed`. */
  readonly code = 'precondition_failed'
  /** The version of the conversation now. */
  readonly version: number

  constructor(version: number) {
    super(`the conversation has changed since it was read: it has version ${version}`)
    this.version = version
  }
}
