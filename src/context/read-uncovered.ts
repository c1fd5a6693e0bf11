import { type Block, isKnown } from '../core/block.ts'
import type { ConversationId, MessageId } from '../core/ids.ts'
import type { Message, Role } from '../core/message.ts'
import type { Summary } from '../core/summary.ts'
import { shorten } from './as-text.ts'
import type { SummaryReader } from './newest-summary.ts'
import { shortenResults } from './shorten-results.ts'
import { summaryCuts } from './summary-prompt.ts'

/** A message as far as a summary needs it. */
export interface Told {
  readonly id: MessageId
  readonly role: Role
  readonly blocks: readonly Block[]
  readonly erased: unknown
}

/** What no summary stands for yet. */
export interface Uncovered {
  /** From the root, or from behind the last summary, to the head. */
  readonly messages: readonly Told[]
  /** The newest summary on this path. */
  readonly previous: Summary | null
}

/** Messages that are read at once. */
const page = 500

/** Reads back from the head until a summary of the beginning ends, or to the root. */
export async function readUncovered(
  reader: SummaryReader,
  conversationId: ConversationId,
  head: MessageId,
): Promise<Uncovered> {
  const ending = Map.groupBy(await reader.listSummaries(conversationId), ({ last }) => last)
  const pages: Told[][] = []
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
  reader: SummaryReader,
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

/** The one that begins at the root: any other leaves out the beginning. */
async function fromRoot(reader: SummaryReader, summaries: readonly Summary[] = []): Promise<Summary | null> {
  for (const summary of summaries) {
    const [first] = await reader.getMessages([summary.first], { blobs: 'preview' })
    if (first?.depth === 0) return summary
  }
  return null
}

/** Without what a summary does not look at: the whole of a long history may have to be held for a moment. */
function lean({ id, role, blocks, erased }: Message): Told {
  return { id, role, blocks: erased ? [] : blocks.flatMap(leanBlock), erased }
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
