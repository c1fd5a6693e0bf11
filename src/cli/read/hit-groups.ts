import { hitKind } from '../../api/search-hit.ts'
import { collapseSpaces } from '../../core/collapse-spaces.ts'
import type { SearchHit } from '../../core/listing.ts'
import { modelName } from '../../core/model-name.ts'
import type { ConversationReader, MessageReader } from '../../core/ports.ts'
import { uniqueShortId } from '../output/short-id.ts'
import type { HitGroup } from './search-lines.ts'

/** The ports that a list of hits is read through. */
export type HitStore = Pick<ConversationReader, 'getConversation' | 'resolve'> &
  Pick<MessageReader, 'listTurns'>

/** The hits by conversation, with short ids and the names of the models. Reads the turns of the hits only: a
 *  conversation may have any number. */
export async function readHitGroups(
  store: HitStore,
  hits: readonly SearchHit[],
  showDirectory: (directory: string | null) => string | null,
): Promise<readonly HitGroup[]> {
  const groups: HitGroup[] = []
  for (const [id, found] of Map.groupBy(hits, hit => hit.conversation.id)) {
    const { title, directory } = found[0]!.conversation
    const firsts = [...new Set(found.flatMap(({ message }) => message.turn ?? []))]
    const limit = Math.max(1, firsts.length)
    const turns = new Map(
      (await store.listTurns(id, { firsts, limit })).items.map(turn => [turn.first, turn]),
    )
    const { model } = await store.getConversation(id)
    const lines = []
    for (const hit of found) {
      const { message, snippet } = hit
      const turn = message.turn === null ? undefined : turns.get(message.turn)
      const who = whoIn(hit, turn?.model ?? model)
      lines.push({ id: await uniqueShortId(store, message.id), at: message.createdAt, who, snippet })
    }
    groups.push({
      title: title ?? '(no title)',
      directory: showDirectory(directory),
      id: await uniqueShortId(store, id),
      hits: lines,
    })
  }
  return groups
}

function whoIn(hit: SearchHit, model: string | null): string {
  const kind = hitKind(hit)
  if (kind === 'thinking') return 'thinking'
  const isTool = kind === 'tool_call' || kind === 'tool_result' || hit.message.role === 'tool_result'
  if (isTool) return 'tool'
  if (hit.message.role === 'user') return 'You'
  if (hit.message.role === 'system') return 'system'
  return model === null ? 'assistant' : modelName(collapseSpaces(model))
}
