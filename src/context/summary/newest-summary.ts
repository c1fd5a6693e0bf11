import { NotFoundError } from '../../core/errors.ts'
import type { MessageId } from '../../core/ids.ts'
import type { Message } from '../../core/message.ts'
import type { MessageReader } from '../../core/ports.ts'
import type { Summary } from '../../core/summary.ts'

/** The methods of a store that reading a context needs. Not `listPath`: the cost depends on the window, not
 *  on the history. */
export type ContextReader = Pick<MessageReader, 'tail' | 'getMessages' | 'listSummaries'>

/** A summary that covers the beginning of a path. */
export interface CoveringSummary {
  readonly summary: Summary
  /** How many messages of the path it covers. */
  readonly messages: number
  /** How many tokens of the path it covers. */
  readonly tokens: number
}

/** On a path with forks, how many messages before the tail are searched for the end of a summary. The end is
 *  nearly always in the tail or just before it, because the next summary is made when the messages after it
 *  fill a window. */
const summaryReach = 1_000

/** How many summaries are considered, newest first, including those of other branches. First a few, because
 *  the right one is usually the newest of all. */
export const firstSummaries = 4
const looked = [firstSummaries, 64] as const

/** The newest summary of the beginning of this path, or null. `tail` is the end of the path, as read.
 *
 *  A summary belongs to the path if its last message is on it. That is known without reading if the message
 *  is in the tail, or if the path has no fork before the tail (its messages are then the conversation's first
 *  ones). Otherwise up to `summaryReach` messages before the tail are read; an older summary is not found. So
 *  the cost does not depend on the length of the history. */
export async function newestSummary(
  reader: ContextReader,
  tail: readonly Message[],
): Promise<CoveringSummary | null> {
  const oldest = tail[0]
  if (!oldest) return null
  try {
    for (const newest of looked) {
      const { items: listed } = await reader.listSummaries(oldest.conversationId, {
        order: 'descending',
        limit: newest,
      })
      const found = await endingWithin(reader, tail, listed)
      if (found) return found
      if (listed.length < newest || newest === looked.at(-1))
        return await endingBefore(reader, oldest, listed)
    }
  } catch (error) {
    // The messages were deleted between two reads, and the summary with them.
    if (!(error instanceof NotFoundError)) throw error
  }
  return null
}

async function endingWithin(
  reader: ContextReader,
  tail: readonly Message[],
  listed: readonly Summary[],
): Promise<CoveringSummary | null> {
  const places = placesOf(tail)
  for (const summary of listed) {
    const place = places.get(summary.last)
    if (!place) continue
    const [first] = await reader.getMessages([summary.first], { blobs: 'preview' })
    if (first?.depth === 0) return { summary, ...place }
  }
  return null
}

async function endingBefore(
  reader: ContextReader,
  oldest: Message,
  listed: readonly Summary[],
): Promise<CoveringSummary | null> {
  if (oldest.parentId === null || listed.length === 0) return null
  const straight = oldest.seq === oldest.depth
  const ends = await reader.getMessages(
    listed.flatMap(({ first, last }) => [first, last]),
    { blobs: 'preview' },
  )
  const possible = listed.flatMap((summary, i) => {
    const first = ends[2 * i]!
    const last = ends[2 * i + 1]!
    const near = straight || oldest.depth - last.depth <= summaryReach
    if (first.depth > 0 || !near || !mayPrecede(last, oldest)) return []
    return [{ summary, last, place: { messages: last.depth + 1, tokens: last.pathTokens } }]
  })
  if (possible.length === 0) return null
  if (straight) return { summary: possible[0]!.summary, ...possible[0]!.place }
  const reach = oldest.depth - Math.min(...possible.map(({ last }) => last.depth))
  const behind = await reader.tail(oldest.parentId, { messages: reach }, { blobs: 'preview' })
  const places = placesOf(behind.messages)
  const found = possible.find(({ summary }) => places.has(summary.last))
  return found ? { summary: found.summary, ...found.place } : null
}

/** How many messages and tokens the path has up to each message of the tail, and up to the one before: a tail
 *  begins with a turn, so a summary may end just before it. */
function placesOf(tail: readonly Message[]): Map<MessageId, { messages: number; tokens: number }> {
  const places = new Map(tail.map(m => [m.id, { messages: m.depth + 1, tokens: m.pathTokens }]))
  const oldest = tail[0]
  if (oldest?.parentId) {
    places.set(oldest.parentId, { messages: oldest.depth, tokens: oldest.pathTokens - oldest.tokens })
  }
  return places
}

/** False if the message cannot be an ancestor: along a path both seq and seq − depth only grow. */
function mayPrecede(message: Message, later: Message): boolean {
  return (
    message.seq < later.seq &&
    message.depth < later.depth &&
    message.seq - message.depth <= later.seq - later.depth
  )
}
