import { messageLines, type TextMessage, type TextPreset } from '../../context/text/as-text.ts'
import { guardAfterLabel } from '../../context/text/guard-lines.ts'
import { asBlocks, type Block, type ToolCallBlock, type ToolResultBlock } from '../../core/block.ts'
import { textOf } from '../../core/message.ts'
import { headAndTail, leftOutMark } from './cut-text.ts'
import { callText, type ToldCall, toldCall } from './told-call.ts'

/** A message to tell: a stored one, or one that a caller gives. */
export interface ToldMessage extends TextMessage {
  /** Says whether an answer was cut off. */
  readonly metadata?: object | null
}

/** How much of a turn is told. */
export interface TurnDetail {
  /** Most characters of a message of the user. */
  readonly question: number
  /** Most characters of each message with the last text of the answer; 0 for none. */
  readonly answer: number
  /** Most tool calls, the newest ones. */
  readonly calls: number
  /** Most characters of the result of a call. */
  readonly result: number
  /** The same for the newest calls of the conversation. */
  readonly newestResult: number
}

/** From the fewest details to the most. */
export const turnDetails: readonly TurnDetail[] = [
  { question: 400, answer: 0, calls: 0, result: 0, newestResult: 0 },
  { question: 800, answer: 400, calls: 0, result: 0, newestResult: 0 },
  { question: 3_000, answer: 1_000, calls: 30, result: 0, newestResult: 120 },
  { question: 6_000, answer: 2_000, calls: 60, result: 200, newestResult: 400 },
  { question: 12_000, answer: 4_000, calls: 60, result: 400, newestResult: 2_000 },
]

/** A turn, prepared for telling. */
export interface ToldTurn {
  /** Null if the agent knows the question, or there is none. */
  readonly question: ToldMessage | null
  /** Messages of a system, in order. */
  readonly system: readonly ToldMessage[]
  readonly calls: readonly ToldCall[]
  /** The last text of the answer: usually one message. Late words are messages of their own. */
  readonly answers: readonly ToldMessage[]
  /** True if the answer was cut off: by a crash, by the person, or by an error. */
  readonly isCutOff: boolean
  /** How many messages it has. */
  readonly messages: number
  /** The index of its last message among all of them. */
  readonly last: number
}

/** Divides messages into turns. A turn begins with a message of the user. */
export function toldTurns(messages: readonly ToldMessage[], directory: string): readonly ToldTurn[] {
  const turns: ToldMessage[][] = []
  for (const message of messages) {
    if (message.role === 'user' || turns.length === 0) turns.push([])
    turns.at(-1)!.push(message)
  }
  let last = -1
  return turns.map(turn => {
    last += turn.length
    return toldTurn(turn, directory, last)
  })
}

function toldTurn(messages: readonly ToldMessage[], directory: string, last: number): ToldTurn {
  const answers = messages.filter(({ role }) => role === 'assistant')
  const final = answers.at(-1)
  return {
    question: messages[0]?.role === 'user' ? messages[0] : null,
    system: messages.filter(({ role }) => role === 'system' || role === 'developer'),
    calls: callsIn(messages, directory),
    answers: lastTexts(messages),
    isCutOff: isCutOff(final?.metadata),
    messages: messages.length,
    last,
  }
}

/** Whether the metadata of a message say that it was cut off. */
export function isCutOff(metadata: object | null | undefined): boolean {
  const { interrupted, failed } = (metadata ?? {}) as {
    readonly interrupted?: unknown
    readonly failed?: unknown
  }
  return interrupted === true || failed === true
}

/** The messages with text after the last tool call; if there are none, the last one before it. */
function lastTexts(messages: readonly ToldMessage[]): readonly ToldMessage[] {
  const isText = (message: ToldMessage) =>
    message.role === 'assistant' && (message.erased || textOf(message) !== '' || hasMedia(message))
  const lastCall = messages.findLastIndex(({ role }) => role === 'tool_result' || role === 'tool')
  const after = messages.slice(lastCall + 1).filter(isText)
  return after.length > 0 ? after : messages.filter(isText).slice(-1)
}

function hasMedia(message: ToldMessage): boolean {
  return messageLines(message, whole).some(line => line.startsWith('Assistant: [attached: '))
}

/** The calls of a turn with their results. Ids may recur: a result belongs to the first call without one. */
function callsIn(messages: readonly ToldMessage[], directory: string): readonly ToldCall[] {
  const pairs: { readonly call: ToolCallBlock; result: ToolResultBlock | null }[] = []
  for (const { content, erased } of messages) {
    if (erased || typeof content === 'string') continue
    for (const block of asBlocks(content) as readonly Block[]) {
      if (block.type === 'tool_call') pairs.push({ call: block, result: null })
      if (block.type !== 'tool_result') continue
      const pair = pairs.find(({ call, result }) => result === null && call.callId === block.callId)
      if (pair) pair.result = block
    }
  }
  return pairs.map(({ call, result }) => toldCall(call, result, directory))
}

/** The lines of a turn. `newest` is the number of its last calls that are among the newest ones of the
 *  conversation. Stored text can neither close the fence nor imitate a label or a remark of ours. */
export function turnLines(turn: ToldTurn, detail: TurnDetail, newest: number): readonly string[] {
  const { question, system, calls, answers } = turn
  const lines = question ? [...messageText(question, detail.question)] : []
  for (const message of system) lines.push(...messageText(message, detail.question))
  const shown = detail.calls === 0 ? [] : calls.slice(-detail.calls)
  const omitted = calls.length - shown.length
  if (omitted > 0) lines.push(`Tool: [${omitted} ${shown.length > 0 ? 'earlier ' : ''}calls are left out]`)
  for (const [i, call] of shown.entries()) {
    const most = shown.length - i <= newest ? detail.newestResult : detail.result
    lines.push(`Tool: ${guardText(callText(call, most))}`)
  }
  if (answers.length > 0 && detail.answer > 0)
    for (const [i, answer] of answers.entries())
      lines.push(...messageText(answer, detail.answer, turn.isCutOff && i === answers.length - 1))
  else if (turn.isCutOff) lines.push(`Assistant: ${cutOffMark}`)
  return lines
}

/** Before an answer that was cut off. Stored text cannot imitate it: its brackets get a backslash here. */
export const cutOffMark = '[cut off]'

const whole: TextPreset = {
  opening: [],
  messages: 0,
  most: 0,
  cut: Number.POSITIVE_INFINITY,
  cutResults: null,
}

function messageText(message: ToldMessage, most: number, wasCutOff = false): readonly string[] {
  const text = textOf(message)
  const who = message.role === 'user' ? 'User' : message.role === 'assistant' ? 'Assistant' : 'System'
  const mark = wasCutOff ? `${cutOffMark} ` : ''
  if (message.erased) return [`${who}: [erased]`]
  const lines = text === '' ? [] : [`${who}: ${mark}${guardText(headAndTail(text, most))}`]
  return [...lines, ...messageLines(message, whole).filter(line => line.startsWith(`${who}: [attached: `))]
}

/** A text after a label. At its beginning, a bracket of a stored text gets a backslash: brackets there are
 *  ours. */
export function guardText(text: string): string {
  const safe = guardAfterLabel(text)
  const isOurs = /^[\s\p{Cf}\p{Cc}\p{M}]*[[［⁅【〔]/u.test(safe)
  return isOurs ? `\\${safe}` : safe
}

/** Whether a line of an injected history is this message. All texts are without white space. `isWhole` is
 *  false if `text` is only the beginning of the message. */
export function isToldAs(line: string, text: string, isWhole: boolean): boolean {
  if (text === '') return false
  const told = unescaped(line.replace(toldLabel, ''))
  const own = unescaped(text)
  if (told === own) return true
  const [head = '', tail = null] = told.split(leftOutMark)
  if (!isWhole) return head.startsWith(own) || (tail !== null && own.startsWith(head))
  if (tail !== null) return own.startsWith(head) && own.endsWith(tail)
  // As histories were written before, and by `asText`.
  return told.endsWith(truncated) && own.startsWith(told.slice(0, -truncated.length))
}

/** The text of a message in an injected history, without its label. */
export function toldText(message: ToldMessage): string {
  return (messageText(message, Number.POSITIVE_INFINITY)[0] ?? '').replace(/^\w+: /, '')
}

/** The line for messages that a history leaves out. */
export function gapLine(messages: number): string {
  return `System: [${messages} messages are left out here]`
}

/** The same without white space. */
export const gapMark = /^System:\[\d+messagesareleftouthere\]$/

const toldLabel = /^(?:User|Assistant):(?:\[cutoff\])?/
const truncated = '...[truncated]'

function unescaped(text: string): string {
  return text.replace(/^\\+/, '')
}
