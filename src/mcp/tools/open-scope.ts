import type { Conversation } from '../../core/conversation.ts'
import { InvalidError } from '../../core/errors.ts'
import type { ConversationId } from '../../core/ids.ts'
import type { ConversationReader } from '../../core/ports.ts'
import { isDirectMessage, keysOf } from './direct-messages.ts'
import type { McpScope } from './endpoint-options.ts'

/** What decides whether a conversation is shown. Search hits are never in the trash. */
type ScopedConversation = Pick<Conversation, 'id' | 'directory' | 'channel'> &
  Partial<Pick<Conversation, 'trashedAt'>>

/** The scope of one call. */
export interface OpenScope {
  /** Only conversations of these directories. Null: of every directory. */
  readonly directories: readonly string[] | null
  /** The channel, without the rest of a key prefix. Null: every channel. */
  readonly channel: string | null
  /** The only conversation of the scope. Null: there may be many. */
  readonly conversationId: ConversationId | null
  /** Whether a conversation is shown. */
  admits(conversation: ScopedConversation): Promise<boolean>
}

/** Reads the scope of a call. `all` is the argument of the call: absent for the widest scope that the
 *  endpoint has. Throws InvalidError if the call asks for more. */
export async function openScope(
  store: Pick<ConversationReader, 'resolve' | 'listBranches'>,
  scope: McpScope,
  all?: boolean,
): Promise<OpenScope> {
  const { channel: place = null, conversation: only = null } = scope
  if (all === true && scope.all !== true) {
    const next = 'Leave `all` out. A person can start the server with: skein mcp --all'
    throw new InvalidError('all', `this server shows the conversations of one project. ${next}`)
  }
  const isWide = scope.all === true && all !== false
  const directories = isWide || only !== null ? null : ((await scope.directories?.()) ?? null)
  const conversationId = only === null ? null : (await store.resolve(only)).conversation.id
  const channel = place?.split(':', 1)[0] ?? null
  // A page names the same conversation many times.
  const judged = new Map<ConversationId, Promise<boolean>>()

  async function isShown(one: ScopedConversation): Promise<boolean> {
    if ((one.trashedAt ?? null) !== null) return false
    // A conversation that is named is shown, whatever it is.
    if (conversationId !== null) return one.id === conversationId
    if (directories !== null && (one.directory === null || !directories.includes(one.directory))) return false
    if (place === null || place === channel)
      return (channel === null || one.channel === channel) && !(await isDirectMessage(store, one))
    if (one.channel !== channel) return false
    return (await keysOf(store, one.id)).some(key => key === place || key.startsWith(`${place}:`))
  }

  return {
    directories,
    channel,
    conversationId,
    admits(one) {
      const known = judged.get(one.id) ?? isShown(one)
      judged.set(one.id, known)
      return known
    },
  }
}
