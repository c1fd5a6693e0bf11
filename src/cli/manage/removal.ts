import type { Conversation } from '../../core/conversation.ts'
import { NotFoundError } from '../../core/errors.ts'
import type { Message } from '../../core/message.ts'
import type { ConversationReader, Lister, MessageReader, Resolved } from '../../core/ports.ts'
import type { SeqRange, Stretch } from '../../core/runs.ts'
import { errorReport } from '../command-line/error-report.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { shortestIdLength } from '../output/short-id.ts'
import { type NameScope, needIdOrTitle } from '../target/find-named.ts'

/** What `rm` removes. */
export interface Removal {
  readonly conversations: readonly Conversation[]
  readonly messages: readonly Message[]
  /** Names of things that do not exist or are already in the trash. */
  readonly missing: readonly string[]
}

/** Resolves all names before anything is removed. */
export async function findRemoval(
  store: ConversationReader & MessageReader & Lister,
  named: readonly string[],
  context: NameScope,
): Promise<Removal> {
  const conversations = new Map<string, Conversation>()
  const messages = new Map<string, Message>()
  const missing: string[] = []
  for (const text of named) {
    const found = await resolveIfThere(store, text, context)
    if (!found || found.conversation.trashedAt) missing.push(text)
    else if (found.message) {
      const [message] = await store.getMessages([found.message], { blobs: 'preview' })
      messages.set(found.message, message!)
    } else {
      refuseBranch(text, found)
      conversations.set(found.conversation.id, found.conversation)
    }
  }
  return {
    conversations: [...conversations.values()],
    messages: [...messages.values()].filter(message => !conversations.has(message.conversationId)),
    missing,
  }
}

async function resolveIfThere(
  store: ConversationReader & Lister,
  text: string,
  context: NameScope,
): Promise<Resolved | null> {
  try {
    return await needIdOrTitle(text, store, context)
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error
    if (text.length >= shortestIdLength) return null
    throw new UsageError(errorReport(error).message, 'skein ls lists conversations')
  }
}

/** A branch name does not mean the whole conversation, so it is refused. */
function refuseBranch(text: string, { conversation, branch }: Resolved): void {
  const isKey = branch.key === text
  if (!isKey && text.endsWith(`:${branch.name}`)) {
    throw new UsageError(
      `${text} is a branch, and rm takes conversations and messages`,
      `skein branches ${text.slice(0, text.indexOf(':'))} shows where it ends`,
    )
  }
  if (isKey && branch.name !== conversation.activeBranch) {
    throw new UsageError(
      `${text} is the key of one branch only`,
      `To remove all of it, give the conversation's id`,
    )
  }
}

/** The subtrees of these messages, including the messages themselves. Stretches are in order of seq, parents
 *  first. */
export function subtreeParts(runs: readonly Stretch[], seqs: readonly number[]): readonly SeqRange[] {
  const taken = new Set<number>()
  const parts: SeqRange[] = []
  for (const { firstSeq, lastSeq, parentSeq } of runs) {
    const below = parentSeq !== null && taken.has(parentSeq)
    const own = seqs.filter(seq => firstSeq <= seq && seq <= lastSeq)
    const from = below ? firstSeq : Math.min(...own)
    if (from > lastSeq) continue
    // Every message with a child ends a stretch, so only the ends are needed.
    taken.add(lastSeq)
    parts.push({ lo: from, hi: lastSeq })
  }
  return parts
}
