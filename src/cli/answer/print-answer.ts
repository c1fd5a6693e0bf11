import type { AgentEvent, Reply } from '../../agent/run/events.ts'
import type { Run } from '../../agent/run/run.ts'
import type { Json } from '../../core/json.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { formatMoney, plural } from '../output/number.ts'
import { noteLine } from '../output/print.ts'
import { shortenId } from '../output/short-id.ts'
import { canSpin, createSpinner } from '../output/spinner.ts'
import { stdoutSink, type TextSink } from '../output/text-sink.ts'
import { formatDuration } from '../output/time.ts'
import { toolLine } from '../output/tool-line.ts'
import { wrapForTerminal } from '../output/wrap.ts'
import { skeinCommand } from '../store/skein-command.ts'
import { allowedText, memoryText, refusedText, settingText } from './agent-notes.ts'
import { answerActivity } from './answer-activity.ts'
import {
  type ContextFacts,
  contextFacts,
  ignoredText,
  recalledLines,
  retryText,
  shortenedText,
  summaryText,
  thoughtText,
  waitingText,
  windowText,
} from './answer-notes.ts'
import { interruptPresses } from './interrupt-presses.ts'
import { planLines } from './plan-lines.ts'
import { createSavingNotes, type SavingNotes } from './saving-notes.ts'

export interface PrintAnswerOptions {
  /** The model's id, shown while it is awaited. */
  readonly model: string
  /** Receives the text. Default: stdout, with control characters made visible. */
  readonly sink?: TextSink
  /** Appended to a line about omitted messages: ` /context` in a chat, which has that command. */
  readonly more?: string
  /** How to read the model's thinking: `/think` in a chat. Not printed if it is absent. */
  readonly readThinking?: string
  /** True if another program answers: `--allow` names no tools there. */
  readonly isForeign?: boolean
  /** Says that messages wait for the store. Default: of this run only. */
  readonly saving?: SavingNotes
  /** Called with every event before it is shown. */
  readonly observe?: (event: AgentEvent) => void | Promise<void>
}

/** The outcome of a printed run. */
export interface PrintedAnswer {
  readonly reply: Reply
  readonly tookMs: number
  /** The context of the last model call. */
  readonly context: ContextFacts | null
  /** True if another process moved the branch during the turn: the rest is stored on a sibling branch. */
  readonly movedAside: boolean
}

/** Prints a run as it arrives: the answer to stdout, everything else to stderr. Ctrl+C stops the run and
 *  keeps what has arrived. Throws the error of the run, after ending the current line. */
export async function printAnswer(
  run: Run,
  context: CommandContext,
  options: PrintAnswerOptions,
): Promise<PrintedAnswer> {
  const { err, quiet, json } = context
  const { saving = createSavingNotes(null, context) } = options
  const sink = options.sink ?? (json ? silent : stdoutSink(context))
  const spinner = createSpinner(context, () => sink.column)
  const began = context.now()
  const calls = new Map<string, { readonly input: Json; readonly at: number }>()
  const seen: Seen = {
    context: null,
    summary: null,
    leftOut: 0,
    cut: 0,
    movedAside: false,
    isWaiting: false,
    asking: null,
    plan: new Set(),
  }
  const stopListening = stopOnCtrlC(run, context, sink)

  const say = (line: string) => {
    if (quiet || json) return
    sink.pause()
    err.line(wrapForTerminal(line, err))
  }
  const thoughtLine = (ms: number) => {
    const how = options.readThinking === undefined ? [] : [options.readThinking]
    return faintly([thoughtText(ms), ...how].join(` ${err.style.symbols.dot} `))
  }
  const faintly = (line: string) => `  ${err.style.faint(err.style.safe(line))}`

  try {
    const activity = answerActivity(options.model, spinner)
    for await (const event of run) {
      if (event.type !== 'text') await sink.settled()
      const thoughtMs = activity.before(event)
      if (thoughtMs !== null) say(thoughtLine(thoughtMs))
      await options.observe?.(event)
      for (const line of show(event)) say(line)
      activity.after(event)
    }
    await sink.settled()
  } finally {
    spinner.stop()
    stopListening()
    sink.pause()
  }
  return {
    reply: await run.result(),
    tookMs: context.now() - began,
    context: seen.context,
    movedAside: seen.movedAside,
  }

  function show(event: AgentEvent): readonly string[] {
    switch (event.type) {
      case 'text':
        sink.push(event.text)
        return []
      case 'started':
        return event.forked
          ? [noteLine(`another process is answering here; yours is on branch ${event.branch?.name}`, err)]
          : []
      case 'answered':
        sink.pause()
        return []
      case 'tool_started':
        calls.set(event.callId, { input: event.input, at: context.now() })
        return []
      case 'tool_ended': {
        const { input = null, at = context.now() } = calls.get(event.callId) ?? {}
        const call = { name: event.name, input }
        return [toolLine({ call, result: event, tookMs: context.now() - at }, err)]
      }
      case 'summary':
        if (event.outcome === 'made' || event.outcome === 'extractive') seen.summary = event
        return []
      case 'context':
        return contextLines(event, seen, options.more ?? '').map(faintly)
      case 'recalled':
        return recalledLines(event.outcome).map(faintly)
      case 'retrying':
        // On a terminal, the spinner counts down.
        return canSpin(context) ? [] : [noteLine(retryText(event, formatDuration(event.waitMs)), err)]
      case 'ignored':
        return newIgnored(ignoredText(event), context).map(text => noteLine(text, err))
      case 'shrunk':
        return [noteLine('the model refused the length; asking again with less', err)]
      case 'waiting': {
        // Once: a living process renews its lease every few seconds.
        if (seen.isWaiting) return []
        seen.isWaiting = true
        return [noteLine(waitingText(event), err)]
      }
      case 'trouble': {
        if (event.trouble.kind === 'taken_over') seen.movedAside = true
        const text = saving.during(event.trouble)
        return text === null ? [] : [noteLine(text, err)]
      }
      case 'resumed':
        return event.unknown.map(({ name }) =>
          noteLine(`the outcome of ${name} is unknown; it is not run again`, err),
        )
      case 'memory':
        return [faintly(memoryText(event))]
      case 'setting': {
        const text = settingText(event)
        return [event.problem === null ? faintly(text) : noteLine(text, err)]
      }
      case 'plan':
        return planLines(event.entries, seen.plan, err).map(faintly)
      case 'asking':
        sink.pause()
        seen.asking = event.request
        return []
      case 'asked':
        return askedLines(event, seen.asking)
      case 'subagent':
        if (event.event.type === 'asking' || event.event.type === 'asked') return show(event.event)
        return event.event.type === 'ended' ? [subagentLine(event, event.event.reply, context)] : []
      default:
        return []
    }
  }

  /** The question and its answer are on the screen already, except those of another program's agent. */
  function askedLines(event: Extract<AgentEvent, { type: 'asked' }>, asked: Seen['asking']) {
    if (event.callId !== null && context.canAsk) return []
    if (event.isAllowed) return event.callId === null ? [faintly(allowedText(event))] : []
    const { name = null, reason = null } = asked ?? {}
    const tool = options.isForeign ? null : name
    return [noteLine(refusedText(event, context.canAsk, { tool, reason }), err)]
  }
}

/** The notes about ignored options that a command has printed: each call of a model repeats them. */
const printedIgnored = new WeakMap<CommandContext, Set<string>>()

function newIgnored(text: string, context: CommandContext): readonly string[] {
  const printed = printedIgnored.get(context) ?? new Set()
  printedIgnored.set(context, printed)
  if (printed.has(text)) return []
  printed.add(text)
  return [text]
}

interface Seen {
  context: ContextFacts | null
  summary: Extract<AgentEvent, { type: 'summary' }> | null
  leftOut: number
  cut: number
  movedAside: boolean
  isWaiting: boolean
  /** The last call that was asked for. Null for one of another program's agent. */
  asking: Extract<AgentEvent, { type: 'asking' }>['request']
  /** Lines of the plan that are already printed. */
  readonly plan: Set<string>
}

/** Printed once, and again if the numbers grow: a turn may need many calls. */
function contextLines(
  event: Extract<AgentEvent, { type: 'context' }>,
  seen: Seen,
  more: string,
): readonly string[] {
  const facts = contextFacts(event)
  const lines: string[] = []
  if (seen.summary) lines.push(summaryText(seen.summary.messages, event.tokens.summary, seen.summary.outcome))
  if (facts.leftOut > seen.leftOut) lines.push(windowText(facts.leftOut))
  if (event.cut.length > seen.cut) lines.push(shortenedText(event.cut.length))
  seen.context = facts
  seen.summary = null
  seen.leftOut = Math.max(seen.leftOut, facts.leftOut)
  seen.cut = Math.max(seen.cut, event.cut.length)
  return lines.map(line => line + more)
}

/** `  load-test (subagent) · 3 steps · $0.06 · skein show 3hq5zb` */
function subagentLine(
  { name, conversationId }: Extract<AgentEvent, { type: 'subagent' }>,
  reply: Reply,
  context: CommandContext,
): string {
  const { style } = context.err
  const parts = [`${style.safe(name)} (subagent)`, plural(reply.steps, 'step')]
  if (reply.usage.cost !== undefined) parts.push(formatMoney(reply.usage.cost))
  if (conversationId !== null) parts.push(`${skeinCommand(context)} show ${shortenId(conversationId)}`)
  return `  ${parts.join(` ${style.symbols.dot} `)}`
}

const silent: TextSink = {
  push: () => undefined,
  settled: () => Promise.resolve(),
  pause: () => undefined,
  column: 0,
}

/** Handles SIGINT during a run. Returns a function that removes the handler. */
function stopOnCtrlC(run: Run, context: CommandContext, sink: TextSink): () => void {
  const presses = interruptPresses(run, context, { onNote: () => sink.pause() })
  const onInterrupt = () => presses.press()
  process.on('SIGINT', onInterrupt)
  return () => {
    presses.end()
    process.removeListener('SIGINT', onInterrupt)
  }
}
