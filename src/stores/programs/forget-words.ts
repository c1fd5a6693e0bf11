import type { BranchRef } from '../../core/branch.ts'
import { freeSiblingName, isNameFrom } from '../../core/branch-name.ts'
import { CorruptError } from '../../core/errors.ts'
import { eventTypes } from '../../core/event.ts'
import type { ConversationId } from '../../core/ids.ts'
import { type Message, textOf } from '../../core/message.ts'
import { titleFrom } from '../../core/title.ts'
import { all, type Program, run } from '../engine/engine.ts'
import { dataOfEvent } from '../engine/row-to-value.ts'
import type { EventRow, LockRow } from '../engine/rows.ts'
import { renameRows } from './branches.ts'

/** A message whose words are removed. */
export type RemovedMessage = Pick<Message, 'role' | 'content'>

/** What else was changed because it repeated words of removed messages. */
export interface ForgottenWords {
  titles: number
  readonly branches: BranchRef[]
  events: number
}

/** What a conversation has besides its messages that may repeat their words. */
export interface RepeatingWords {
  readonly conversation: LockRow
  /** The names of its branches. */
  readonly names: Set<string>
  title: string | null
  activeBranch: string
  readonly hasEvents: boolean
}

/** The events that may quote a message: tool events have only ids and names. */
const quotingTypes = eventTypes.filter(type => type !== 'tool_started' && type !== 'tool_ended')

/** Most events to read at a time. */
const eventBatch = 500

export function* readRepeatingWords(conversation: LockRow): Program<RepeatingWords> {
  const { conv, title, active_branch } = conversation
  const names = new Set((yield* all('branches', { conv })).map(({ name }) => name))
  const events = yield* all('events', { conv, types: quotingTypes, after: -1, limit: 1 })
  return { conversation, names, title, activeBranch: active_branch, hasEvents: events.length > 0 }
}

/** Whether there is anything that may repeat a message. */
export function mayRepeat({ title, names, hasEvents }: RepeatingWords): boolean {
  return title !== null || hasEvents || [...names].some(isMadeOfWords)
}

/** `main-2` was not made of words, whatever a message says. */
function isMadeOfWords(name: string): boolean {
  return !/^main(-\d+)?$/.test(name)
}

/** Clears the automatic title, renames the branches and empties the events that repeat these messages. */
export function* forgetWords(
  words: RepeatingWords,
  messages: readonly RemovedMessage[],
  forgotten: ForgottenWords,
): Program<void> {
  const { conv, id } = words.conversation
  // Titles and names are made of what the user said.
  const texts = messages.filter(({ role }) => role === 'user').map(textOf)
  if (words.title !== null && texts.some(text => titleFrom(text) === words.title)) {
    yield* run('clearTitle', { conv, title: words.title })
    words.title = null
    forgotten.titles++
  }
  for (const name of [...words.names].filter(isMadeOfWords)) {
    if (!texts.some(text => isNameFrom(name, text))) continue
    const to = freeSiblingName('main', words.names)
    yield* renameRows(conv, name, to)
    if (words.activeBranch === name) {
      yield* run('setActiveBranch', { conv, name: to })
      words.activeBranch = to
    }
    words.names.delete(name)
    words.names.add(to)
    forgotten.branches.push({ conversationId: id as ConversationId, name: to })
  }
  if (words.hasEvents) forgotten.events += yield* emptyEvents(words.conversation, messages)
}

/** Keeps the type and the time of an event that quotes a message. */
function* emptyEvents({ conv }: LockRow, messages: readonly RemovedMessage[]): Program<number> {
  const said = messages.flatMap(({ content }) => stringsIn(content))
  let [emptied, after] = [0, -1]
  for (let more = true; more; ) {
    const rows = yield* all('events', { conv, types: quotingTypes, after, limit: eventBatch })
    for (const row of rows) {
      const { n } = row
      if (!mayQuote(row, said)) continue
      yield* run('setEventData', { conv, n, data: JSON.stringify({ erased: true }) })
      emptied++
    }
    more = rows.length === eventBatch
    after = rows.at(-1)?.n ?? after
  }
  return emptied
}

/** Data that cannot be read may quote a message too. */
function mayQuote(row: EventRow, said: readonly string[]): boolean {
  try {
    return quotes(stringsIn(dataOfEvent(row)), said)
  } catch (error) {
    if (error instanceof CorruptError) return true
    throw error
  }
}

/** A shorter text proves nothing: both may contain "ok". */
const shortestQuote = 8

function quotes(strings: readonly string[], said: readonly string[]): boolean {
  return strings.some(one => said.some(other => one.includes(other) || other.includes(one)))
}

/** The texts in a JSON value, without short ones. */
function stringsIn(value: unknown): readonly string[] {
  const found: string[] = []
  const waiting: unknown[] = [value]
  while (waiting.length > 0) {
    const next = waiting.pop()
    if (typeof next === 'string') {
      const text = next.replace(/\s+/g, ' ').trim()
      if (text.length >= shortestQuote) found.push(text)
    } else if (typeof next === 'object' && next !== null) {
      // One push each: a long list has no room on the stack.
      for (const member of Object.values(next)) waiting.push(member)
    }
  }
  return found
}
