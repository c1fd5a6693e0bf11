import { type Block, isKnown } from '../../core/block.ts'
import type { ConversationId, MessageId } from '../../core/ids.ts'
import type { Message, Role } from '../../core/message.ts'
import { collectPages } from '../../core/pages.ts'
import type { Summary } from '../../core/summary.ts'
import { shorten } from '../text/as-text.ts'
import { shortenResults } from '../view/shorten-results.ts'
import type { ContextReader } from './newest-summary.ts'
import { summaryCuts } from './summary-prompt.ts'

/** The part of a message that a summary needs. */
export interface LeanMessage {
  readonly id: MessageId
  readonly role: Role
  readonly content: readonly Block[]
  readonly erased: unknown
}

/** The messages that no summary covers yet. */
export interface Uncovered {
  /** From the root, or from the end of the last summary, to the head. */
  readonly messages: readonly LeanMessage[]
  /** The newest summary on this path. */
  readonly previous: Summary | null
}

/** Messages per read. */
const page = 500

/** Reads back from the head to the end of a summary of the beginning, or to the root. */
export async function readUncovered(
  reader: ContextReader,
  conversationId: ConversationId,
  head: MessageId,
): Promise<Uncovered> {
  const ending = Map.groupBy(
    await collectPages(page => reader.listSummaries(conversationId, page)),
    ({ last }) => last,
  )
  const pages: LeanMessage[][] = []
  for (let at: MessageId | null = head; at !== null; ) {
    const found = await fromRoot(reader, ending.get(at))
    if (found) return { messages: pages.reverse().flat(), previous: found }
    const { messages } = await reader.tail(at, { messages: page }, { blobs: 'preview' })
    const until = await lastCovered(reader, messages, ending)
    const told = (await shortenResults(reader, messages.slice(until.from))).map(lean)
    pages.push(told)
    if (until.previous) return { messages: pages.reverse().flat(), previous: until.previous }
    at = messages[0]?.parentId ?? null
  }
  return { messages: pages.reverse().flat(), previous: null }
}

async function lastCovered(
  reader: ContextReader,
  messages: readonly Message[],
  ending: ReadonlyMap<MessageId, readonly Summary[]>,
): Promise<{ from: number; previous: Summary | null }> {
  for (let at = messages.length - 1; at >= 0; at--) {
    const ends = ending.get(messages[at]!.id)
    const previous = ends ? await fromRoot(reader, ends) : null
    if (previous) return { from: at + 1, previous }
  }
  return { from: 0, previous: null }
}

/** The summary that begins at the root: any other one misses the beginning. */
async function fromRoot(reader: ContextReader, summaries: readonly Summary[] = []): Promise<Summary | null> {
  for (const summary of summaries) {
    const [first] = await reader.getMessages([summary.first], { blobs: 'preview' })
    if (first?.depth === 0) return summary
  }
  return null
}

/** Drops what a summary does not use, because the whole of a long history may be in memory at once. */
function lean({ id, role, content: blocks, erased }: Message): LeanMessage {
  return { id, role, content: erased ? [] : blocks.flatMap(leanBlock), erased }
}

function leanBlock(block: Block): readonly Block[] {
  if (!isKnown(block)) return []
  switch (block.type) {
    case 'text':
      return [{ type: 'text', text: shorten(block.text, summaryCuts.text) }]
    case 'thinking':
      return []
    case 'tool_call': {
      const { type, callId, name, input } = block
      return [{ type, callId, name, input: shorten(JSON.stringify(input), summaryCuts.result) }]
    }
    case 'tool_result': {
      const { type, callId, output } = block
      const text = typeof output === 'string' ? output : JSON.stringify(output)
      return [{ type, callId, output: shorten(text, summaryCuts.result) }]
    }
    case 'image':
    case 'audio':
    case 'video':
    case 'file': {
      const { type, mime, name } = block
      return [{ type, mime, ...(name === undefined ? {} : { name }) }]
    }
    default:
      return block satisfies never
  }
}
