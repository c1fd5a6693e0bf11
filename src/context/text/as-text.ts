import { isKnown, isMedia, type NewBlock } from '../../core/block.ts'
import { checkList } from '../../core/check.ts'
import type { MessageId } from '../../core/ids.ts'
import { type RoleInput, textOf } from '../../core/message.ts'
import { fence, guardAfterLabel, guardLine } from './guard-lines.ts'

/** The part of a message that its text needs: of a stored message, a context message, or a new one. */
export interface TextMessage {
  /** Decides the label of the message in the text. */
  readonly role: RoleInput
  /** Text is written, tool calls are named, and media are described. */
  readonly content: string | readonly NewBlock[]
  /** The stored message. Needed only to find the end of a summary. */
  readonly id?: MessageId
  /** Not null if the content was erased: the text says so. */
  readonly erased?: unknown
}

/** The introduction of a conversation, and how much of it is written. */
export interface TextPreset {
  /** The lines above the conversation. */
  readonly opening: readonly string[]
  /** Default number of messages, the newest ones. */
  readonly messages: number
  /** Most messages, also if the caller asks for more. */
  readonly most: number
  /** The length to which a message is cut, in UTF-16 units. */
  readonly cut: number
  /** The length to which a tool result is cut; null leaves results out. */
  readonly cutResults: number | null
}

/** For an agent that accepts only text and continues the conversation. The wording is that of the origin
 *  document, which includes a word that is otherwise avoided here. */
export const continuing: TextPreset = {
  opening: [
    'The following is the prior conversation history from a previous se\u0073sion.',
    'You should treat this as context you already know about, as if you had this conversation.',
  ],
  messages: 30,
  most: 50,
  cut: 2_000,
  cutResults: null,
}

/** How much of a conversation `asText` writes. */
export interface AsTextOptions {
  /** How many messages to write, the newest ones. */
  readonly messages?: number
  /** A summary of the earlier messages, used for conversations of more than 20 messages. If its last message
   *  is among the given ones, only those after it are written. */
  readonly summary?: { readonly text: string; readonly last?: MessageId } | null
  /** How many messages of the conversation precede the given ones. */
  readonly older?: number
  /** The introduction and the limits. Default: for an agent that continues the conversation. */
  readonly preset?: TextPreset
}

/** A conversation with more messages than this uses the summary. */
const summaryFrom = 20

/** The conversation as one text, for agents that accept only text: the newest messages between two fences,
 *  with the names of tools and without their results. Stored text can neither close the fence nor imitate a
 *  label: see guard-lines.ts. Empty if there is no message.
 *
 * @example
 * ```ts
 * import { asText } from 'skein/context'
 *
 * const text = asText([
 *   { role: 'user', content: [{ type: 'text', text: 'My name is Ada.' }] },
 *   { role: 'assistant', content: [{ type: 'text', text: 'Hello, Ada.' }] },
 * ])
 * console.log(text)
 * // <conversation_history>
 * // The following is the prior conversation history …
 * // You should treat this as context you already know about, as if you had this conversation.
 * //
 * // User: My name is Ada.
 * // Assistant: Hello, Ada.
 * // </conversation_history>
 * ```
 */
export function asText(messages: readonly TextMessage[], options: AsTextOptions = {}): string {
  checkList(messages, 'messages', 'a list of messages')
  const { preset = continuing, older = 0 } = options
  const written = messages.flatMap((message, at) => {
    const lines = messageLines(message, preset)
    return lines.length === 0 ? [] : [{ at, lines }]
  })
  const summary = older + written.length > summaryFrom ? options.summary : null
  const covered = summary?.last === undefined ? -1 : messages.findLastIndex(({ id }) => id === summary.last)
  const following = written.filter(({ at }) => at > covered)
  const count = Math.min(options.messages ?? preset.messages, preset.most)
  const lines = (count >= 1 ? following.slice(-count) : []).flatMap(m => m.lines)
  const above = summary?.text ? ['Previous conversation summary:', guardLine(summary.text)] : []
  if (above.length + lines.length === 0) return ''
  const between = above.length > 0 && lines.length > 0 ? [''] : []
  return [`<${fence}>`, ...preset.opening, '', ...above, ...between, ...lines, `</${fence}>`].join('\n')
}

/** The lines of one message, with its label; none if it is not shown. */
export function messageLines(message: TextMessage, preset: TextPreset): readonly string[] {
  const who = labels[message.role]
  if (message.erased) return [`${who}: [erased]`]
  if (who === 'Tool') return preset.cutResults === null ? [] : resultsOf(message, preset.cutResults)
  const text = textOf(message)
  const lines = text === '' ? [] : [`${who}: ${guardAfterLabel(shorten(text, preset.cut))}`]
  const blocks = typeof message.content === 'string' ? [] : message.content.filter(isKnown)
  const tools = blocks.flatMap(block => (block.type === 'tool_call' ? [nameable(block.name)] : []))
  const attached = blocks.filter(isMedia).map(block => nameable(block.name ?? block.mime))
  if (attached.length > 0) lines.push(`${who}: [attached: ${attached.join(', ')}]`)
  if (tools.length > 0) lines.push(`${who}: [used tools: ${tools.join(', ')}]`)
  return lines
}

const labels: Record<RoleInput, 'User' | 'Assistant' | 'System' | 'Tool'> = {
  user: 'User',
  assistant: 'Assistant',
  system: 'System',
  developer: 'System',
  tool_result: 'Tool',
  tool: 'Tool',
}

function resultsOf(message: TextMessage, cut: number): readonly string[] {
  if (typeof message.content === 'string') return [`Tool: ${guardAfterLabel(shorten(message.content, cut))}`]
  return message.content.flatMap(block => {
    if (block.type !== 'tool_result') return []
    const output = typeof block.output === 'string' ? block.output : JSON.stringify(block.output)
    return output === '' ? [] : [`Tool: ${guardAfterLabel(shorten(output, cut))}`]
  })
}

/** Cuts at this many UTF-16 units, one less if that would split a pair. */
export function shorten(text: string, units: number): string {
  if (text.length <= units) return text
  const splits = isHigh(text.charCodeAt(units - 1)) && isLow(text.charCodeAt(units))
  return `${text.slice(0, splits ? units - 1 : units)}... [truncated]`
}

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff
}

/** A name that cannot break the list around it: names also come from files and other agents. */
function nameable(name: string): string {
  return name.replaceAll(/[^\p{L}\p{N}_.:/@+-]+/gu, '_').slice(0, 64)
}
