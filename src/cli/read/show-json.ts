import { type Block, isKnown } from '../../core/block.ts'
import type { Erasure, Message } from '../../core/message.ts'
import { itemsOf } from '../../core/pages.ts'
import type { ConversationReader, Lister, MessageReader } from '../../core/ports.ts'
import type { Summary } from '../../core/summary.ts'
import type { Usage } from '../../core/turn.ts'
import { cutReason } from '../output/answer-ending.ts'
import type { JsonMember } from '../output/print.ts'
import { conversationJson } from './conversation-json.ts'
import { endingAt, type PathEnding, turnUsageAt } from './path-facts.ts'
import type { PathPart, ShownPath } from './shown-path.ts'

/** The members of `show --json`, in order. */
export const showMembers = ['conversation', 'branch', 'path', 'summaries', 'draft'] as const

/** A path as `--json` prints it: the members in order, `path` and `summaries` item by item. Fields are only
 *  added, never removed. */
export async function* showJson(
  store: ConversationReader & Lister & Pick<MessageReader, 'listSummaries'>,
  shown: ShownPath,
  parts: AsyncIterable<PathPart>,
  now: number,
): AsyncGenerator<JsonMember> {
  yield { name: 'conversation', value: await conversationJson(store, shown.facts) }
  yield { name: 'branch', value: shown.branch }
  const ends = new Set<string>()
  yield { name: 'path', items: path() }
  yield { name: 'summaries', items: summaries() }
  yield { name: 'draft', value: shown.draft && { text: shown.draft.text, model: shown.draft.turn.model } }

  async function* path() {
    for await (const part of parts) {
      for (const message of part.messages) {
        yield messageJson(message, part, now)
        if (part.summaries.has(message.id)) ends.add(message.id)
      }
    }
  }

  /** Read again, because all of them may be larger than the memory. */
  async function* summaries() {
    const { id } = shown.facts.conversation
    for await (const summary of itemsOf(page => store.listSummaries(id, page)))
      if (ends.has(summary.last)) yield summaryJson(summary)
  }
}

function summaryJson({ first, last, text, model, tokens, checksum, createdAt }: Summary) {
  return {
    id: checksum,
    from: first,
    to: last,
    text,
    model,
    tokens,
    created_at: createdAt.toISOString(),
  }
}

function messageJson(message: Message, shown: PathPart, now: number) {
  const turn = message.turn === null ? undefined : shown.turns.get(message.turn)
  const ending = endingAt(message, shown, now)
  const usage = turnUsageAt(message, shown)
  return {
    id: message.id,
    parent: message.parentId,
    seq: message.seq,
    role: message.role,
    created_at: message.createdAt.toISOString(),
    status: statusOf(ending),
    stop: message.role === 'assistant' ? cutReason(message.metadata?.finish) : null,
    model: message.role === 'assistant' ? (turn?.model ?? shown.facts.conversation.model) : null,
    usage: usage === null ? null : usageJson(usage),
    label: message.label,
    siblings: shown.siblings.get(message.id)?.names ?? [],
    blocks: message.content.map(blockJson),
    tokens: message.tokens,
    meta: message.metadata,
    erased: message.erased && erasureJson(message.erased),
  }
}

function erasureJson({ erasedAt, by, reason }: Erasure) {
  return { at: erasedAt.toISOString(), by, reason }
}

/** An answer that the provider cut is complete: `stop` has the reason. */
function statusOf(ending: PathEnding | null): 'complete' | 'open' | 'interrupted' | 'failed' {
  switch (ending?.status) {
    case 'live':
      return 'open'
    case 'failed':
      return 'failed'
    case 'interrupted':
    case 'not finished':
      return 'interrupted'
    default:
      return 'complete'
  }
}

function usageJson({ input, output, cacheRead, cacheWrite, reasoning, cost }: Usage) {
  return {
    input: input ?? null,
    output: output ?? null,
    cache_read: cacheRead ?? null,
    cache_write: cacheWrite ?? null,
    reasoning: reasoning ?? null,
    cost_usd: cost ?? null,
  }
}

/** Unknown blocks are printed unchanged. */
function blockJson(block: Block): object {
  if (!isKnown(block)) return block
  const { mime = null, metadata: meta = null } = block
  switch (block.type) {
    case 'text':
    case 'thinking':
      return { type: block.type, mime, text: block.text, meta }
    case 'tool_call':
      return { type: block.type, mime, call_id: block.callId, name: block.name, input: block.input, meta }
    case 'tool_result': {
      const { callId, name = null, output, isError = false } = block
      return { type: block.type, mime, call_id: callId, name, output, is_error: isError, meta }
    }
    default: {
      const { data = null, url = null, name = null } = block
      return { type: block.type, mime, data, url, name, meta }
    }
  }
}
