import { endingAt } from '../../api/path-facts.ts'
import { type Block, isKnown, type ToolResultBlock } from '../../core/block.ts'
import { collapseSpaces } from '../../core/collapse-spaces.ts'
import { mainArgument, outputText } from '../../core/gist.ts'
import type { Message } from '../../core/message.ts'
import { outcomeText, toolResults } from '../../core/tool-outcome.ts'
import { isTurnLive } from '../../system/live-turn.ts'
import { endingText } from '../output/ending-words.ts'
import { plural } from '../output/number.ts'
import type { Style } from '../output/style.ts'
import { formatDuration } from '../output/time.ts'
import { speakerName } from './show-lines.ts'
import type { PathPart, ShownPath } from './shown-path.ts'

export interface ShowMarkdownOptions {
  readonly style: Pick<Style, 'safe'>
  readonly full: boolean
  readonly now: number
}

/** A path for a file or another program: Markdown, with full ids and times, and nothing cut. */
export async function* showMarkdown(
  shown: ShownPath,
  parts: AsyncIterable<PathPart>,
  look: ShowMarkdownOptions,
): AsyncGenerator<string> {
  const safe = (text: string) => look.style.safe(text)
  yield `# ${safe(collapseSpaces(shown.facts.conversation.title ?? '(no title)'))}`
  for await (const part of parts) yield* partLines(part, look)
  if (shown.draft) yield* ['', '## (not finished)', '', safe(shown.draft.text)]
}

function* partLines(shown: PathPart, look: ShowMarkdownOptions): Generator<string> {
  const { full } = look
  const safe = (text: string) => look.style.safe(text)
  const results = toolResults(shown.around)
  for (const message of shown.messages) {
    yield* messageLines(message)
    const summary = shown.summaries.get(message.id)
    if (summary) {
      yield* ['', `> summary from ${summary.first} to ${summary.last}`]
      if (full) yield* ['>', ...quoted(summary.text)]
    }
  }

  function* messageLines(message: Message): Generator<string> {
    const blocks = message.content.filter(block => !isFolded(block))
    // Results are shown with their calls.
    if (message.role === 'tool_result' && blocks.length === 0 && message.erased === null) return
    yield ''
    yield `## ${safe(speakerName(message, shown))} (${message.createdAt.toISOString()}, ${message.id})`
    const ending = endingAt(message, shown.turns, turn => isTurnLive(turn, look.now))
    if (message.erased) yield* ['', `(erased: ${safe(collapseSpaces(message.erased.reason))})`]
    let wasLine = false
    for (const block of blocks) {
      const isLine = block.type !== 'text'
      if (!(wasLine && isLine)) yield ''
      yield* blockLines(block, message)
      wasLine = isLine && !full
    }
    if (ending !== null) yield* ['', `(${endingText({ ...ending, ms: null })})`]
  }

  function isFolded(block: Block): boolean {
    return block.type === 'tool_result' && results.get(block.callId)?.block === block
  }

  function* blockLines(block: Block, message: Message): Generator<string> {
    if (!isKnown(block)) return void (yield `- (${safe(collapseSpaces(block.type))})`)
    switch (block.type) {
      case 'text':
        yield safe(block.text.trimEnd())
        return
      case 'thinking':
        if (full) yield* ['> thinking', '>', ...quoted(block.text)]
        else yield `- thinking: ${plural(block.text.trim().split('\n').length, 'line')}`
        return
      case 'tool_call': {
        const result = results.get(block.callId)?.block ?? null
        const ms = shown.toolTimes(message.id, block.callId)
        const took = ms === null ? '' : ` · ${formatDuration(ms)}`
        yield `- ${safe(collapseSpaces(block.name))}: ${safe(mainArgument(block.input))}${outcome(result)}${took}`
        if (full) yield* fenced(JSON.stringify(block.input, null, 2), 'json')
        if (full && result) yield* fenced(outputText(result.output))
        return
      }
      case 'tool_result':
        yield `- ${safe(collapseSpaces(block.name ?? 'tool'))}${outcome(block)}`
        if (full) yield* fenced(outputText(block.output))
        return
      default:
        yield `- ${block.type}: ${safe(collapseSpaces([block.name, block.mime, block.url].filter(Boolean).join(', ')))}`
    }
  }

  function outcome(result: ToolResultBlock | null): string {
    const words = safe(outcomeText(result))
    return `${words === '' ? '' : ` · ${words}`}${result?.isError ? ' (failed)' : ''}`
  }

  function quoted(text: string): readonly string[] {
    return safe(text.trimEnd())
      .split('\n')
      .map(line => `> ${line}`.trimEnd())
  }

  /** A fence that is longer than any fence inside. */
  function fenced(text: string, language = ''): readonly string[] {
    const inside = [...text.matchAll(/^ {0,3}(`{3,})/gm)].map(([, ticks = '']) => ticks.length)
    const fence = '`'.repeat(Math.max(3, 1 + Math.max(0, ...inside)))
    return ['', `${fence}${language}`, safe(text.trimEnd()), fence, '']
  }
}
