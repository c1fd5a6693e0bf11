import type { IsLive } from '../../api/path-facts.ts'
import { NotFoundError } from '../../core/errors.ts'
import type { ConversationId } from '../../core/ids.ts'
import type { ListedConversation } from '../../core/listing.ts'
import type { ConversationOverview, OverviewReader } from '../../core/overview.ts'
import type { BranchInConversation, ConversationReader } from '../../core/ports.ts'
import { isTurnLive } from '../../system/live-turn.ts'

type OverviewStore = ConversationReader & OverviewReader

/** Reads what the API shows of a conversation, also of one in the trash. Throws NotFoundError. */
export async function readOverview(store: OverviewStore, id: ConversationId): Promise<ConversationOverview> {
  const conversation = await store.getConversation(id)
  const branch = await store.getBranch({ conversationId: id, name: conversation.activeBranch })
  return overviewOf(store, { ...conversation, branch })
}

/** The same for a conversation that has been read already. `at` may be another branch than the active one. */
export async function overviewAt(
  store: OverviewStore,
  { conversation, branch }: BranchInConversation,
): Promise<ConversationOverview> {
  if (branch.name === conversation.activeBranch) return overviewOf(store, { ...conversation, branch })
  return readOverview(store, conversation.id)
}

async function overviewOf(
  store: OverviewReader,
  conversation: ListedConversation,
): Promise<ConversationOverview> {
  const [overview] = await store.readOverviews([conversation])
  if (!overview) throw new NotFoundError('conversation', conversation.id)
  return overview
}

/** Whether an open turn is being answered, at the time of the question. */
export function isLiveAt(now: () => number): IsLive {
  return turn => turn.status === 'open' && isTurnLive(turn, now())
}
