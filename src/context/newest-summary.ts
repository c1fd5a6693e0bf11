import { NotFoundError } from '../core/errors.ts'
import type { MessageId } from '../core/ids.ts'
import type { Message } from '../core/message.ts'
import type { MessageReader } from '../core/ports.ts'
import type { Summary } from '../core/summary.ts'

/** What finding a summary needs of a store. */
export type SummaryReader = Pick<MessageReader, 'tail' | 'getMessages' | 'listSummaries'>

/** A summary that stands for the beginning of a path. */
export interface Covering {
  readonly summary: Summary
  /** Messages of the path it stands for. */
  readonly messages: number
  /** Tokens of the path it stands for. */
  readonly tokens: number
}

/** How far behind a tail a summary is looked for on a path that has forks, in messages. Its end is nearly always
 *  within the tail or right behind it, since the next one is made when what follows it fills a window. */
const summaryReach = 1_000

/** How many summaries are looked at, newest first: those of other branches are among them. First a few, because the
 *  one that counts is mostly the newest of all. */
const looked = [4, 64] as const

/** The newest summary of what lies at the beginning of this path, or null. `tail` is the end of the path, as read.
 *
 *  Whether a summary's last message is on the path is known without reading if it is in the tail, or if the path
 *  has no fork before the tail (its messages are then the conversation's first ones). Otherwise the messages behind
 *  the tail are read, `summaryReach` of them at most: an older summary than that is not found. So the cost has a
 *  bound that does not depend on the length of the history. */
export async function newestSummary(
  reader: SummaryReader,
  tail: readonly Message[],
): Promise<Covering | null> {
  const oldest = tail[0]
  if (!oldest) return null
  try {
    for (const newest of looked) {
      const listed = (await reader.listSummaries(oldest.conversationId, { newest })).toReversed()
      const found = await endingWithin(reader, tail, listed)
      if (found) return found
      if (listed.length < newest || newest === looked.at(-1))
        return await endingBehind(reader, oldest, listed)
    }
  } catch (error) {
    // What it covers was deleted between two reads, and the summary with it.
    if (!(error instanceof NotFoundError)) throw error
  }
  return null
}

async function endingWithin(
  reader: SummaryReader,
  tail: readonly Message[],
  listed: readonly Summary[],
): Promise<Covering | null> {
  const places = placesOf(tail)
  for (const summary of listed) {
    const place = places.get(summary.last)
    if (!place) continue
    const [first] = await reader.getMessages([summary.first], { blobs: 'preview' })
    if (first?.depth === 0) return { summary, ...place }
  }
  return null
}

async function endingBehind(
  reader: SummaryReader,
  oldest: Message,
  listed: readonly Summary[],
): Promise<Covering | null> {
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

/** What a path has up to each of these messages, and up to the one before them: a tail begins with a turn, so that
 *  the message where a summary ends may be the one just before it. */
function placesOf(tail: readonly Message[]): Map<MessageId, { messages: number; tokens: number }> {
  const places = new Map(tail.map(m => [m.id, { messages: m.depth + 1, tokens: m.pathTokens }]))
  const oldest = tail[0]
  if (oldest?.parentId) {
    places.set(oldest.parentId, { messages: oldest.depth, tokens: oldest.pathTokens - oldest.tokens })
  }
  return places
}

/** False if it cannot be an ancestor: along a path both seq and the distance of seq from depth only grow. */
function mayPrecede(message: Message, later: Message): boolean {
  return (
    message.seq < later.seq &&
    message.depth < later.depth &&
    message.seq - message.depth <= later.seq - later.depth
  )
}
