import { keptVerbatim } from '../../context/summary/summary-plan.ts'
import { continuing } from '../../context/text/as-text.ts'
import { fence, guardLine } from '../../context/text/guard-lines.ts'
import type { MessageId } from '../../core/ids.ts'
import { estimateTokens } from '../../core/tokens.ts'
import { headAndTail } from './cut-text.ts'
import { gapLine, type ToldMessage, type ToldTurn, toldTurns, turnDetails, turnLines } from './told-turn.ts'

/** Default size of an injected history, in tokens. */
export const defaultTellTokens = 24_000

/** The smallest size: the first question and the newest turn fit. */
export const leastTellTokens = 1_000

/** The text that is injected for messages that an agent does not have. */
export interface HistoryText {
  /** Ends with a blank line: some agents join the blocks of a prompt without a separator. */
  readonly text: string
  /** Messages in the text, and those that it leaves out. */
  readonly messages: number
  readonly untold: number
  /** True if results or texts are shortened or left out. */
  readonly isShortened: boolean
  /** The file that the text names. */
  readonly transcript: string | null
}

export interface HistoryTextOptions {
  /** Most tokens of the text. Default: 24,000. */
  readonly tokens?: number
  /** How many messages precede the given ones. */
  readonly older?: number
  /** The first message of the user, if it is among the older ones. */
  readonly first?: ToldMessage | null
  /** A summary of the beginning, up to this message. */
  readonly summary?: { readonly text: string; readonly last: MessageId } | null
  /** The working directory: paths below it are relative. */
  readonly directory?: string
  /** A file with the whole conversation, which the text names if it leaves anything out. */
  readonly transcript?: string | null
  /** An MCP server that reads the conversation, which the text names if it leaves anything out. */
  readonly recall?: string | null
}

/** A conversation with more messages than this uses the summary (S4-29). */
export const summaryFrom = 20

/** Turns that a summary covers are told with fewer details. */
const coveredDetail = 2

/** How many of the newest calls have longer results. */
const newestCalls = 8

/** Most characters of a summary. */
const mostSummary = 12_000

/** The text for messages of a conversation, oldest first; null if there is nothing to tell. All turns are
 *  told first with their questions only, from the newest to the oldest, as long as they fit; then with more
 *  and more details, again from the newest on. The first message of the user is always told, and no turn is
 *  told in part. */
export function historyText(
  messages: readonly ToldMessage[],
  options: HistoryTextOptions = {},
): HistoryText | null {
  const { older = 0, first = null, directory = '', transcript = null, recall = null } = options
  const turns = toldTurns(messages, directory)
  const summary = older + messages.length > summaryFrom ? (options.summary ?? null) : null
  // The newest messages are told in any case, whether a summary covers them or not.
  const recent = messages.length - 1 - keptVerbatim
  const covered = summary ? messages.findLastIndex(({ id }) => id === summary.last) : -1
  const above = summary
    ? ['Previous conversation summary:', guardLine(headAndTail(summary.text, mostSummary)), '']
    : []
  const opener = first ? toldTurns([first], directory) : []
  const details = chooseDetails([...opener, ...turns], {
    tokens:
      Math.max(options.tokens ?? defaultTellTokens, leastTellTokens) -
      estimateTokens(above.join('\n')) -
      framing -
      (recall === null ? 0 : recallFraming),
    most: turn => (turn.last <= Math.min(covered, recent) ? coveredDetail : turnDetails.length - 1),
  })
  const written = [...opener, ...turns].map((turn, i) => ({ turn, text: details[i]! }))
  const told = written.filter(({ text }) => text !== leftOut)
  if (told.length === 0 && above.length === 0) return null
  const counted = told.reduce((sum, { turn, text }) => sum + (text.isWhole ? turn.messages : 1), 0)
  const untold = Math.max(0, older + messages.length - counted)
  const isShortened = untold > 0 || told.some(({ text }) => text.isShortened)
  const notes = isShortened ? [noteOf(untold, older + messages.length, transcript, recall)] : []
  const between = { after: opener.length, messages: older - opener.length }
  const lines = [...above, ...withGaps(written, between)]
  const text = [`<${fence}>`, ...continuing.opening, ...notes, '', ...lines, `</${fence}>`].join('\n')
  const named = isShortened ? transcript : null
  return { text: `${text}\n\n`, messages: counted, untold, isShortened, transcript: named }
}

/** Tokens of the fence, the opening and the note about the file. */
const framing = 150

/** Tokens of the note about the server. */
const recallFraming = 25

function noteOf(untold: number, all: number, transcript: string | null, recall: string | null): string {
  const left = untold > 0 ? `, and ${untold} of ${all} messages are left out` : ''
  const file =
    transcript === null
      ? ''
      : ` The whole conversation, with all results, is in ${transcript}: read or search this file if you need more.`
  const server =
    recall === null ? '' : ` The tools of the MCP server ${recall} search and read the whole conversation.`
  return `Tool calls are one line each, long texts are shortened${left}.${file}${server}`
}

/** The lines of a turn at one level of detail. */
interface TurnText {
  readonly lines: readonly string[]
  /** False if only its question is told. */
  readonly isWhole: boolean
  readonly isShortened: boolean
}

const leftOut: TurnText = { lines: [], isWhole: false, isShortened: true }

function chooseDetails(
  turns: readonly ToldTurn[],
  { tokens, most }: { readonly tokens: number; most(turn: ToldTurn): number },
): readonly TurnText[] {
  const newest = newestIn(turns)
  const chosen = turns.map(() => ({ text: leftOut, cost: 0 }))
  let left = tokens

  function upgrade(i: number, level: number, isNeeded = false): void {
    const turn = turns[i]!
    const lines = turnLines(turn, turnDetails[level]!, newest[i]!)
    const cost = estimateTokens(lines.join('\n')) + 1
    if (cost - chosen[i]!.cost > left && !isNeeded) return
    left -= cost - chosen[i]!.cost
    const isWhole = level > 0 || turn.messages === 1
    chosen[i] = { text: { lines, isWhole, isShortened: !isWhole || isShortenedAt(turn, level) }, cost }
  }

  const firstQuestion = turns.findIndex(({ question }) => question !== null)
  if (firstQuestion !== -1) upgrade(firstQuestion, 0, true)
  for (let i = turns.length - 1; i >= 0; i--) {
    if (i === firstQuestion) continue
    // An agent that repeats this history must be seen to have the newest answer.
    if (i === turns.length - 1) upgrade(i, 1, true)
    else upgrade(i, 0)
    // The turns that are left out are one gap.
    if (chosen[i]!.text === leftOut) break
  }
  for (let level = 1; level < turnDetails.length; level++) {
    for (let i = turns.length - 1; i >= 0; i--)
      if (level <= most(turns[i]!) && chosen[i]!.text !== leftOut) upgrade(i, level)
  }
  return chosen.map(({ text }) => text)
}

/** Whether a turn has anything that this level does not tell in full. */
function isShortenedAt(turn: ToldTurn, level: number): boolean {
  const full = {
    ...turnDetails[level]!,
    question: Number.POSITIVE_INFINITY,
    answer: Number.POSITIVE_INFINITY,
  }
  const isCut = turnLines(turn, turnDetails[level]!, 0).join('\n') !== turnLines(turn, full, 0).join('\n')
  return isCut || turn.calls.length > 0
}

/** For each turn, how many of its last calls are among the newest ones. */
function newestIn(turns: readonly ToldTurn[]): readonly number[] {
  let left = newestCalls
  return turns
    .toReversed()
    .map(({ calls }) => {
      const count = Math.min(left, calls.length)
      left -= count
      return count
    })
    .toReversed()
}

/** All lines, with one that counts the messages where turns are left out. `unread` messages are between the
 *  first turns and the others. */
function withGaps(
  written: readonly { readonly turn: ToldTurn; readonly text: TurnText }[],
  unread: { readonly after: number; readonly messages: number },
): readonly string[] {
  const all: string[] = []
  let gap = 0
  for (const [i, { turn, text }] of written.entries()) {
    if (i === unread.after) gap += unread.messages
    if (text === leftOut) {
      gap += turn.messages
      continue
    }
    if (gap > 0) all.push(gapLine(gap))
    gap = 0
    all.push(...text.lines)
  }
  return all
}
