import type { ConversationId, MessageId } from '../../core/ids.ts'
import type { Message } from '../../core/message.ts'
import type { PathSection, PathSectionOptions, SiblingMessages, ToolTime } from '../../core/path-section.ts'
import type { Turn } from '../../core/turn.ts'
import { all, later, type Program } from '../engine/engine.ts'
import { dataOfEvent, timeOfEvent, turnFromRow } from '../engine/row-to-value.ts'
import type { Conv, EventRow, LocatedRow, MessageRow } from '../engine/rows.ts'
import { defaultLimit } from './cursor.ts'
import { needMessage } from './lookup.ts'
import { readPathRows } from './read.ts'

/** Most siblings that are named for a message. */
const mostSiblings = 100

/** Reads a section of a path by depth, and what is shown with its messages. */
export function* readPathSection(end: MessageId, options: PathSectionOptions): Program<PathSection> {
  const located = yield* needMessage(end)
  const { conv } = located
  const pathMessages = located.depth + 1
  const [from, before] = rangeOf(options, pathMessages)
  if (from >= before) return { messages: [], pathMessages, turns: [], siblings: [], toolTimes: [] }
  const read = yield* readPathRows(located, from, before, options.blobs ?? 'whole')
  const hidden = options.wholeTurns ? yield* openFirsts(conv) : new Set<number>()
  const messages = read.messages.filter(({ turn }) => turn === null || !hidden.has(turn))
  const turns = yield* turnsOf(located, messages)
  const toolTimes = yield* toolTimesOf(conv, messages)
  // The other two are read together with it.
  const siblings = yield* siblingsOf(conv, messages, read.rows)
  return { messages, pathMessages, turns: turns(), siblings, toolTimes: toolTimes() }
}

/** The depths of the section: the first one, and the one behind the last. */
function rangeOf(
  { from, before, limit = defaultLimit }: PathSectionOptions,
  length: number,
): [number, number] {
  const end = Math.min(before ?? length, length)
  if (from === undefined) return [Math.max(0, end - limit), end]
  return [from, Math.min(end, from + limit)]
}

function* openFirsts(conv: Conv): Program<ReadonlySet<number>> {
  return new Set((yield* all('openTurns', { conv })).map(turn => turn.first))
}

function* turnsOf(
  { conv, conversation_id }: LocatedRow,
  messages: readonly Message[],
): Program<() => Turn[]> {
  const firsts = [...new Set(messages.flatMap(({ turn }) => turn ?? []))]
  if (firsts.length === 0) return () => []
  const rows = yield* later('turnsAt', { conv, firsts })
  return () => rows().map(row => turnFromRow(conversation_id as ConversationId, row))
}

/** The messages that are not the only child of their parent. Forks are found by their index. */
function* siblingsOf(
  conv: Conv,
  messages: readonly Message[],
  rows: readonly MessageRow[],
): Program<SiblingMessages[]> {
  const parentSeqs = new Map(rows.map(row => [row.id, row.parent_seq]))
  const parents = messages.map(({ id }) => parentSeqs.get(id)!)
  if (parents.length === 0) return []
  const children = Map.groupBy(yield* all('childrenOf', { conv, parents }), row => row.parent_seq)
  return messages.flatMap(({ id: messageId }, i) => {
    const found = children.get(parents[i]!) ?? []
    if (found.length < 2) return []
    const inOrder = found.toSorted((a, b) => a.seq - b.seq).map(row => row.id as MessageId)
    const shown = inOrder.slice(0, mostSiblings)
    // Itself included, also if it is a later one.
    if (!shown.includes(messageId)) shown[mostSiblings - 1] = messageId
    return { messageId, siblings: shown }
  })
}

/** When the calls of the messages ran. Some recorders store the message of a call in the event, others only
 *  the id of the call. */
function* toolTimesOf(conv: Conv, messages: readonly Message[]): Program<() => ToolTime[]> {
  const keys = new Set<string>()
  for (const { id, content } of messages) {
    const calls = content.flatMap(block => (block.type === 'tool_call' ? String(block.callId) : []))
    if (calls.length > 0) for (const key of [id, ...calls]) keys.add(key)
  }
  if (keys.size === 0) return () => []
  const rows = yield* later('toolEvents', { conv, keys: [...keys] })
  return () => timesIn(rows())
}

function timesIn(rows: readonly EventRow[]): ToolTime[] {
  const times = new Map<string, ToolTime>()
  for (const row of rows.toReversed()) {
    const { message, call, callId = call } = dataOfEvent(row)
    if (typeof callId !== 'string') continue
    const messageId = typeof message === 'string' ? (message as MessageId) : null
    const key = JSON.stringify([messageId, callId])
    const known = times.get(key)
    if (row.type === 'tool_started')
      times.set(key, { messageId, callId, startedAt: timeOfEvent(row), endedAt: null })
    else if (known) times.set(key, { ...known, endedAt: timeOfEvent(row) })
  }
  return [...times.values()].toSorted((a, b) => a.startedAt.getTime() - b.startedAt.getTime())
}
