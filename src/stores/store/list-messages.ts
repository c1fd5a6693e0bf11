import { setImmediate as giveWay } from 'node:timers/promises'
import type { ListMessages, Page, SkippedRow } from '../../core/listing.ts'
import type { Message } from '../../core/message.ts'
import type { Engine } from '../engine/engine.ts'
import { readCursor, writeCursor } from '../programs/cursor.ts'
import { listMessages, type SeqSpan } from '../programs/list.ts'
import { needConversation } from '../programs/lookup.ts'

/** Lists messages. A filter may have to look at a whole conversation to fill a page; an engine whose
 *  statements block the process does so in pieces, between which the event loop turns. */
export async function listInPieces(engine: Engine, options: ListMessages): Promise<Page<Message>> {
  const { rowsPerStatement: rows } = engine
  const isFiltered = options.roles !== undefined || options.label !== undefined
  if (rows === null || !isFiltered) return engine.read(() => listMessages(options), 'one')
  const { next_seq: end } = await engine.query(() => needConversation(options.conversationId))
  if (end <= rows) return engine.read(() => listMessages(options))

  const { limit = 100, offset = 0, after, order, afterSeq = -1 } = options
  const { after: _, offset: __, ...filter } = options
  const isUp = order === 'ascending'
  const wanted = offset + limit + 1
  const items: Message[] = []
  const skipped: SkippedRow[] = []
  let at = after === undefined ? (isUp ? -1 : end) : (readCursor(after, ['seq'])[0] as number)
  if (isUp) at = Math.max(at, afterSeq)
  while (items.length < wanted && (isUp ? at < end - 1 : at > afterSeq + 1)) {
    const span: SeqSpan = isUp ? { above: at, below: at + rows + 1 } : { above: at - rows - 1, below: at }
    const missing = wanted - items.length
    const page = await engine.read(() => listMessages({ ...filter, limit: missing }, span))
    items.push(...page.items)
    skipped.push(...(page.skipped ?? []))
    at = isUp ? span.below - 1 : span.above + 1
    await giveWay()
  }
  const shown = items.slice(offset, wanted - 1)
  const last = shown.at(-1)
  const next = items.length === wanted && last ? writeCursor([last.seq]) : null
  return { items: shown, skipped, next }
}
