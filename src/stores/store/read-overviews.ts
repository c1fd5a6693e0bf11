import { CorruptError } from '../../core/errors.ts'
import type { ListedConversation } from '../../core/listing.ts'
import type { ConversationOverview } from '../../core/overview.ts'
import type { Engine } from '../engine/engine.ts'
import { readOverviews, unreadableOverview } from '../programs/overview.ts'

/** Reads all overviews at once, and one by one only if the engine cannot read a page of its file: damage must
 *  not hide the other conversations. */
export async function overviewsOf(
  engine: Engine,
  conversations: readonly ListedConversation[],
): Promise<readonly ConversationOverview[]> {
  try {
    return await engine.read(() => readOverviews(conversations))
  } catch (error) {
    if (!(error instanceof CorruptError)) throw error
  }
  const overviews: ConversationOverview[] = []
  for (const conversation of conversations) {
    const read = engine.read(() => readOverviews([conversation]))
    overviews.push(...(await read.catch(reason => orUnreadable(reason, conversation))))
  }
  return overviews
}

function orUnreadable(reason: unknown, conversation: ListedConversation): readonly ConversationOverview[] {
  if (!(reason instanceof CorruptError)) throw reason
  return [unreadableOverview(conversation)]
}
