import { conversationCost, turnCost } from '../../api/cost.ts'
import { endingAt, turnUsageAt } from '../../api/path-facts.ts'
import { type Block, isKnown, type ToolResultBlock } from '../../core/block.ts'
import { collapseSpaces } from '../../core/collapse-spaces.ts'
import { outputText } from '../../core/gist.ts'
import type { ListedConversation } from '../../core/listing.ts'
import type { Message } from '../../core/message.ts'
import { modelName } from '../../core/model-name.ts'
import { toolResults } from '../../core/tool-outcome.ts'
import type { Usage } from '../../core/turn.ts'
import type { Highlighter } from '../../render/highlight.ts'
import { hasFence, markdownTree } from '../../render/markdown-tree.ts'
import { isTurnLive } from '../../system/live-turn.ts'
import { cut, cutLineMiddle, widthOf } from '../output/cut.ts'
import { drawMarkdown } from '../output/draw-markdown.ts'
import { paintRow } from '../output/drawn-row.ts'
import { endingText } from '../output/ending-words.ts'
import { loadHighlighter } from '../output/load-highlighter.ts'
import { formatBytes, formatCount, formatMoney, plural } from '../output/number.ts'
import type { Style } from '../output/style.ts'
import { tildify } from '../output/tildify.ts'
import { formatTime } from '../output/time.ts'
import { toolLine } from '../output/tool-line.ts'
import { proseWidth, wrap } from '../output/wrap.ts'
import type { PathPart, ShownDraft, ShownPath, ShownSummary } from './shown-path.ts'

export interface ShowOptions {
  readonly width: number
  readonly style: Style
  /** Also prints tool inputs and outputs, thinking and summaries. */
  readonly full: boolean
  /** The ids to print. */
  readonly short: (id: string) => string
  /** The command to type for the same store: `skein`. */
  readonly command: string
  /** Contains HOME, which is printed as `~`. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly now: number
}

/** Fewer characters of a label are not printed. */
const shortestLabel = 8

/** A path for people: a heading and the text of each message, and one line per tool call. */
export async function* showLines(
  shown: ShownPath,
  parts: AsyncIterable<PathPart>,
  look: ShowOptions,
): AsyncGenerator<string> {
  yield* head(shown, look)
  let last: PathPart | null = null
  for await (const part of parts) {
    const older = part.messages[0]?.depth ?? 0
    if (last === null && older > 0)
      yield* [look.style.faint(`... ${plural(older, 'earlier message')} ...`), '']
    yield* partLines(part, await withColours(look, part.messages.flatMap(texts)))
    last = part
  }
  if (shown.draft) yield* draftLines(shown.draft, shown, await withColours(look, [shown.draft.text]))
}

/** Loads the colours of code if one of the texts has code. */
async function withColours(look: ShowOptions, shown: readonly string[]): Promise<ColouredLook> {
  const isNeeded = look.style.colour && shown.some(hasFence)
  return { ...look, highlight: isNeeded ? await loadHighlighter() : null }
}

interface ColouredLook extends ShowOptions {
  readonly highlight: Highlighter | null
}

function texts({ content }: Message): readonly string[] {
  return content.flatMap(block => (isKnown(block) && block.type === 'text' ? [block.text] : []))
}

function* draftLines(
  { turn, text }: ShownDraft,
  { facts }: ShownPath,
  look: ColouredLook,
): Generator<string> {
  const { style } = look
  const model = turn.model ?? facts.conversation.model
  const who = model === null ? 'Assistant' : style.safe(modelName(collapseSpaces(model)))
  const state = isTurnLive(turn, look.now)
    ? style.ok('+ live')
    : style.note(`${style.symbols.note} not finished`)
  yield `${style.title(cut(who, Math.max(12, look.width - 18), style.symbols.dots))}  ${state}`
  yield* markdownLines(text, look)
  yield ''
}

function* markdownLines(text: string, { style, width, highlight }: ColouredLook): Generator<string> {
  const shown = { style, width: Math.min(width, proseWidth), highlight }
  for (const row of drawMarkdown(markdownTree(text), shown)) yield paintRow(row)
}

function* partLines(shown: PathPart, look: ColouredLook): Generator<string> {
  const { style, width, full } = look
  const prose = Math.min(width, proseWidth)
  const results = toolResults(shown.around)
  for (const message of shown.messages) {
    yield* messageLines(message)
    for (const trace of shown.traces.get(message.id) ?? []) yield traceLine(trace)
    const summary = shown.summaries.get(message.id)
    if (summary) yield* summaryLines(summary)
  }

  function* messageLines(message: Message): Generator<string> {
    const blocks =
      message.role === 'tool_result' ? message.content.filter(block => !isFolded(block)) : message.content
    // Results are shown with their calls.
    if (message.role === 'tool_result' && blocks.length === 0 && message.erased === null) return
    yield* headingOf(message)
    if (message.erased) {
      const { by, erasedAt: at, reason } = message.erased
      const text = style.safe(collapseSpaces(`(erased by ${by} on ${formatTime(at)}: ${reason})`))
      for (const line of wrap(text, prose)) yield style.faint(line)
    }
    let isText = message.erased !== null
    for (const block of blocks) {
      const lines = [...blockLines(block, message)]
      const wasText = block.type === 'text'
      // An empty line separates texts, but not tool lines.
      if (wasText && isText && lines.length > 0) yield ''
      yield* lines
      isText = wasText
    }
    if (isText) yield ''
  }

  function isFolded(block: Block): boolean {
    return block.type === 'tool_result' && results.get(block.callId)?.block === block
  }

  /** Name, time, id and ending are always printed, in two lines if they are too wide for one. The rest is
   *  shortened or dropped to fit. */
  function headingOf(message: Message): readonly string[] {
    const { dots, note } = style.symbols
    const parts = [
      style.title(cut(style.safe(speakerName(message, shown)), Math.max(12, width - 40), dots)),
      style.faint(formatTime(message.createdAt)),
      style.id(look.short(message.id)),
    ]
    const ends: string[] = []
    const ending = endingAt(message, shown.turns, turn => isTurnLive(turn, look.now))
    if (ending !== null)
      ends.push(ending.status === 'live' ? style.ok('+ live') : style.note(`${note} ${endingText(ending)}`))
    const room = () => width - widthOf([...parts, ...ends, ''].join('  '))
    const siblings = shown.siblings.get(message.id)
    if (siblings) {
      const count = `${siblings.at} of ${siblings.names.length}`
      const names = siblings.names.map(name => style.safe(collapseSpaces(name))).join(', ')
      const whole = `(${count}: ${names})`
      parts.push(style.branch(widthOf(whole) <= room() ? whole : `(${count})`))
    }
    if (message.label !== null && room() >= shortestLabel)
      parts.push(style.faint(cut(style.safe(collapseSpaces(message.label)), room(), dots)))
    const usage = turnUsageAt(message, shown)
    const words = usage ? usageWords(usage, modelOf(message, shown)) : ''
    if (words !== '' && widthOf(words) <= room()) parts.push(style.faint(words))
    return packParts([...parts, ...ends], '  ', width)
  }

  function* blockLines(block: Block, message: Message): Generator<string> {
    if (!isKnown(block)) return void (yield style.faint(`  (${style.safe(collapseSpaces(block.type))})`))
    switch (block.type) {
      case 'text':
        return yield* textLines(block.text, message)
      case 'thinking':
        if (full) yield* indented('thinking', block.text)
        else
          yield style.faint(
            `  ${cut(`thinking  ${style.safe(collapseSpaces(block.text))}`, width - 2, style.symbols.dots)}`,
          )
        return
      case 'tool_call': {
        const result = results.get(block.callId)?.block ?? null
        const tookMs = shown.toolTimes(message.id, block.callId)
        yield toolLine({ call: block, result, tookMs }, look)
        if (full) yield* indented('input', asText(block.input))
        if (full && result) yield* indented('output', outputText(result.output))
        return
      }
      case 'tool_result':
        return yield* orphan(block)
      default: {
        const size = block.data === undefined ? [] : [formatBytes(Buffer.byteLength(block.data, 'base64'))]
        const facts = [block.name ?? block.type, block.mime, ...size, ...(block.url ? [block.url] : [])]
        yield `  ${cut(style.safe(collapseSpaces(facts.join(` ${style.symbols.dot} `))), width - 2, style.symbols.dots)}`
      }
    }
  }

  function* orphan(block: ToolResultBlock): Generator<string> {
    const call = { name: block.name ?? 'tool', input: null }
    yield toolLine({ call, result: block, tookMs: null }, look)
    if (full) yield* indented('output', outputText(block.output))
  }

  function* textLines(text: string, { role }: Message): Generator<string> {
    if (role !== 'assistant') return yield* wrap(style.safe(text.trimEnd()), prose)
    yield* markdownLines(text, look)
  }

  function* indented(what: string, text: string): Generator<string> {
    yield style.faint(`    ${what}`)
    for (const line of wrap(style.safe(text.trimEnd()), Math.max(20, prose - 4)))
      yield style.faint(`    ${line}`)
  }

  function* summaryLines(summary: ShownSummary): Generator<string> {
    const { rule, dot } = style.symbols
    const [first, last] = [look.short(summary.first), look.short(summary.last)]
    const facts = [
      `summary for ${plural(summary.covers, 'message')}, ${first} to ${last}`,
      `${formatCount(summary.tokens)} tokens`,
    ]
    if (summary.model !== null) facts.push(style.safe(modelName(summary.model)))
    const line = facts.join(` ${dot} `)
    const rules = rule.repeat(3)
    yield style.faint(
      widthOf(line) + 8 <= width ? `${rules} ${line} ${rules}` : cut(line, width, style.symbols.dots),
    )
    if (full) yield* indented('summary', summary.text)
  }

  function traceLine(trace: ListedConversation): string {
    const { dot, dots } = style.symbols
    const name = trace.label?.split(':')[1] || trace.title || 'run'
    const facts = [' (subagent)', plural(trace.messages, 'message')]
    const cost = trace.tokensUsed > 0 ? formatMoney(conversationCost(trace)) : ''
    if (cost !== '') facts.push(cost)
    facts.push(`${look.command} show ${look.short(trace.id)}`)
    const tail = facts.join(` ${dot} `)
    return `  ${cut(style.safe(collapseSpaces(name)), Math.max(12, width - 2 - widthOf(tail)), dots)}${style.faint(tail)}`
  }
}

function* head(
  { facts, branch }: ShownPath,
  { width, style, short, env, now }: ShowOptions,
): Generator<string> {
  const { conversation: one, pathMessages, openTurns } = facts
  const { dot, dots } = style.symbols
  yield style.title(cut(style.safe(collapseSpaces(one.title ?? one.label ?? '(no title)')), width, dots))
  const parts = [cut(style.safe(branch), width, dots), plural(pathMessages, 'message')]
  if (one.directory !== null)
    parts.push(cutLineMiddle(style.safe(tildify(one.directory, env)), Math.min(40, width), dots))
  if (one.tokensUsed > 0) parts.push(`${formatCount(one.tokensUsed)} tokens`)
  const cost = one.tokensUsed > 0 ? formatMoney(conversationCost(one)) : ''
  if (cost !== '') parts.push(cost)
  if (openTurns.some(turn => isTurnLive(turn, now))) parts.push('live')
  if (one.trashedAt !== null) parts.push('in the trash')
  const id = short(one.id)
  const [first, ...others] = packParts([id, ...parts], ` ${dot} `, width)
  yield `${style.id(id)}${first!.slice(id.length)}`
  yield* others
  yield ''
}

/** The parts in as few lines as fit, each part on one line. */
function packParts(parts: readonly string[], between: string, width: number): readonly string[] {
  const lines: string[] = []
  for (const part of parts) {
    const longer = lines.length === 0 ? part : `${lines.at(-1)}${between}${part}`
    if (lines.length > 0 && widthOf(longer) <= width) lines[lines.length - 1] = longer
    else lines.push(part)
  }
  return lines
}

/** The author of a message: You, the model, System or Tool. */
export function speakerName(message: Message, { facts, turns }: Pick<PathPart, 'facts' | 'turns'>): string {
  if (message.role === 'user') return 'You'
  if (message.role !== 'assistant') return message.role === 'system' ? 'System' : 'Tool'
  const model = modelOf(message, { facts, turns })
  return model === null ? 'Assistant' : modelName(collapseSpaces(model))
}

function modelOf(message: Message, { facts, turns }: Pick<PathPart, 'facts' | 'turns'>): string | null {
  return (message.turn === null ? null : turns.get(message.turn)?.model) ?? facts.conversation.model
}

/** `66k in, 1.2k out, $0.05`. */
function usageWords(usage: Usage, model: string | null): string {
  const { input, output } = usage
  const tokens = [
    ...(input === undefined ? [] : [`${formatCount(input)} in`]),
    ...(output === undefined ? [] : [`${formatCount(output)} out`]),
  ]
  return [...tokens, formatMoney(turnCost(model ?? '', usage))].filter(part => part !== '').join(', ')
}

function asText(input: unknown): string {
  return typeof input === 'string' ? input : JSON.stringify(input, null, 2)
}
