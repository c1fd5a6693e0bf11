import { conversationJson } from '../../api/conversation.ts'
import { type MessageJson, messageJson } from '../../api/message.ts'
import { endingAt, type IsLive, statusAt, turnUsageAt } from '../../api/path-facts.ts'
import { summaryJson } from '../../api/summary.ts'
import type { Message } from '../../core/message.ts'
import { itemsOf } from '../../core/pages.ts'
import type { MessageReader } from '../../core/ports.ts'
import type { Turn } from '../../core/turn.ts'
import { isTurnLive } from '../../system/live-turn.ts'
import type { JsonMember } from '../output/print.ts'
import type { PathPart, ShownPath } from './shown-path.ts'

/** The members of `show --json`, in order. */
export const showMembers = ['conversation', 'branch', 'path', 'summaries', 'draft'] as const

/** A path as `--json` prints it: the members in order, `path` and `summaries` item by item. Fields are only
 *  added, never removed. */
export async function* showJson(
  store: Pick<MessageReader, 'listSummaries'>,
  shown: ShownPath,
  parts: AsyncIterable<PathPart>,
  now: number,
): AsyncGenerator<JsonMember> {
  const isLive = (turn: Turn) => isTurnLive(turn, now)
  yield { name: 'conversation', value: conversationJson(shown.facts, isLive) }
  yield { name: 'branch', value: shown.branch }
  const ends = new Set<string>()
  yield { name: 'path', items: path() }
  yield { name: 'summaries', items: summaries() }
  yield { name: 'draft', value: shown.draft && { text: shown.draft.text, model: shown.draft.turn.model } }

  async function* path() {
    for await (const part of parts) {
      for (const message of part.messages) {
        yield messageOf(message, part, isLive)
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

function messageOf(message: Message, part: PathPart, isLive: IsLive): MessageJson {
  const turn = message.turn === null ? undefined : part.turns.get(message.turn)
  return messageJson(message, {
    status: statusAt(endingAt(message, part.turns, isLive)),
    model: turn?.model ?? part.facts.conversation.model,
    usage: turnUsageAt(message, part),
    siblings: part.siblings.get(message.id)?.names ?? [],
    siblingIds: part.siblings.get(message.id)?.ids ?? [],
  })
}
