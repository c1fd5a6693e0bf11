import type { Block, ToolCallBlock, ToolResultBlock } from '../../core/block.ts'
import type { NewEvent } from '../../core/event.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import type { NewMessage } from '../../core/message.ts'
import { isObject } from '../wire/is-object.ts'
import { type AnswerText, blockText, createAnswerText } from './answer-text.ts'
import { blockFromContent } from './content.ts'
import type { CallChange, Heard } from './heard.ts'
import { createTerminals, type TerminalRecord, terminalIdsIn, terminalsToJson } from './terminal.ts'

/** A consequence of an update. */
export type FoldEffect =
  | { readonly type: 'draft'; readonly piece: DraftedPiece }
  | { readonly type: 'message'; readonly message: NewMessage }
  | { readonly type: 'started'; readonly callId: string; readonly name: string; readonly input: Json }
  | {
      readonly type: 'ended'
      readonly callId: string
      readonly name: string
      readonly output: Json
      readonly isError: boolean
    }
  | { readonly type: 'trace'; readonly event: NewEvent }

/** Text of an answer that is not in a message yet. */
export interface DraftedPiece {
  readonly type: 'text' | 'thinking'
  readonly text: string
}

/** Builds messages from the updates of one turn. */
export interface Fold {
  hear(heard: Heard): readonly FoldEffect[]
  /** Whether calls are announced and none of them has started: `settle` would write them. */
  readonly waits: boolean
  /** All text that is not in a message yet, in order. A caller that stores drafts has to store these again
   *  after each message, because a message replaces the draft. */
  readonly drafted: readonly DraftedPiece[]
  /** No more calls will be announced before one of them runs: a permission was requested, or some time has
   *  passed. */
  settle(): readonly FoldEffect[]
  /** Details of an announced call, from a permission request. If the call is written already, its result has
   *  them. Without effect if the call is not known. */
  detail(news: CallChange): void
  /** The turn is over: writes everything. Later updates have no effect. */
  end(): readonly FoldEffect[]
}

/** A message in progress, and the state of its calls. */
interface Step {
  readonly answer: AnswerText
  readonly calls: CallState[]
  /** Closed for further updates: one of its calls runs, or text came after them. */
  isClosed: boolean
}

interface CallState {
  news: CallChange
  /** The call as its message contains it, once that is written. */
  stored: ToolCallBlock | null
  /** The ids of the terminals in its `_meta`. */
  readonly terminals: Set<string>
  isAnswered: boolean
}

/** Most characters of all answers of a turn. More would not fit into one string. */
const mostTurnText = 64 * 1024 * 1024

/** A message is written when it is complete, and a result when it arrives, but nothing is written between a
 *  call and its result. So text that arrives while a tool runs waits for the result. */
export function createFold(mostText: number = mostTurnText): Fold {
  const known = new Map<string, CallState>()
  const terminals = createTerminals()
  /** Steps that are not written yet, in order. Updates go to the last one. */
  let steps: Step[] = []
  /** Calls of the written message that have no result. */
  let running = new Set<CallState>()
  let hasEnded = false
  let characters = 0
  /** The text of asides that arrive in chunks, by name. */
  const asideTexts = new Map<string, string>()
  /** Bytes of answers beyond the limit. */
  let leftOut = 0

  function open(): Step {
    const last = steps.at(-1)
    if (last && !last.isClosed) return last
    const step: Step = { answer: createAnswerText(), calls: [], isClosed: false }
    steps.push(step)
    return step
  }

  function closeLast(): void {
    const last = steps.at(-1)
    if (last && last.calls.length > 0) last.isClosed = true
  }

  function say(block: Block, messageId: string | null): readonly FoldEffect[] {
    if (isWords(block) && blockText(block) === '') return []
    const size = sizeOf(block)
    if (characters + size > mostText) {
      leftOut += size
      return []
    }
    characters += size
    closeLast()
    const written = writeReady()
    open().answer.add(block, messageId)
    return isWords(block) ? [...written, { type: 'draft', piece: pieceOf(block) }] : written
  }

  /** Chunks of one text are one record. */
  function traceAside({ name, update }: Extract<Heard, { type: 'aside' }>): readonly FoldEffect[] {
    const chunk =
      name.endsWith('_chunk') && isObject(update.content) ? blockText(blockFromContent(update.content)) : null
    if (chunk === null) return [asideTrace(name, update)]
    asideTexts.set(name, `${asideTexts.get(name) ?? ''}${chunk}`.slice(0, mostAside))
    return []
  }

  /** Says in the last message how much of the turn is left out. */
  function noteLeftOut(): void {
    if (leftOut > 0) open().answer.add({ type: 'text', text: `\n[… ${leftOut} bytes left out …]` }, null)
  }

  function hearCall(news: CallChange): readonly FoldEffect[] {
    const before = known.get(news.callId)
    const call: CallState = before ?? {
      news,
      stored: null,
      terminals: new Set(),
      isAnswered: false,
    }
    if (call.isAnswered) return []
    for (const change of news.terminals ?? []) {
      call.terminals.add(change.terminalId)
      terminals.hear(change)
    }
    call.news = mergeCall(call.news, news)
    if (!before) {
      known.set(news.callId, call)
      open().calls.push(call)
    }
    if (running.has(call)) return isCallEnded(call.news) ? [...answer(call), ...writeReady()] : []
    const step = steps.find(({ calls }) => calls.includes(call))
    if (step && call.news.status !== undefined && call.news.status !== 'pending') step.isClosed = true
    return writeReady()
  }

  function answer(call: CallState): readonly FoldEffect[] {
    const shown = terminals.records([...terminalIdsIn(call.news.content ?? []), ...call.terminals])
    const block = resultToBlock(call.news, call.stored!, shown)
    const { callId, name = '', output, isError = false } = block
    call.isAnswered = true
    running.delete(call)
    return [
      { type: 'message', message: { role: 'tool_result', content: [block] } },
      { type: 'ended', callId, name, output, isError },
    ]
  }

  function write(step: Step): readonly FoldEffect[] {
    const stored = step.calls.map(({ news }) => callToBlock(news))
    for (const [i, call] of step.calls.entries()) call.stored = stored[i]!
    running = new Set(step.calls)
    return [
      { type: 'message', message: { role: 'assistant', content: [...step.answer.blocks, ...stored] } },
      ...stored.map(({ callId, name, input }) => ({ type: 'started', callId, name, input }) as const),
      ...step.calls.filter(({ news }) => isCallEnded(news)).flatMap(answer),
    ]
  }

  /** Writes complete steps, up to the first call without a result. */
  function writeReady(): readonly FoldEffect[] {
    const effects: FoldEffect[] = []
    while (running.size === 0 && steps[0]?.isClosed) effects.push(...write(steps.shift()!))
    return effects
  }

  return {
    detail(news) {
      const call = known.get(news.callId)
      if (call && !call.isAnswered) call.news = mergeCall(call.news, news)
    },
    hear(heard) {
      if (hasEnded) return []
      switch (heard.type) {
        case 'answer':
          return say(heard.block, heard.messageId)
        case 'thought':
          return say({ type: 'thinking', text: heard.text }, heard.messageId)
        case 'call':
          return hearCall(heard.call)
        case 'terminal':
          terminals.hear(heard.change)
          return []
        case 'plan':
          return [{ type: 'trace', event: { type: 'plan', data: { entries: heard.entries } } }]
        case 'aside':
          return traceAside(heard)
        case 'user':
        case 'usage':
        case 'title':
        case 'mode':
        case 'commands':
        case 'other':
          return []
        default:
          return heard satisfies never
      }
    },
    get waits() {
      return running.size === 0 && steps[0] !== undefined && steps[0].calls.length > 0
    },
    get drafted() {
      return steps.flatMap(({ answer }) => answer.blocks.filter(isWords).map(pieceOf))
    },
    settle() {
      closeLast()
      return writeReady()
    },
    end() {
      hasEnded = true
      noteLeftOut()
      const rest = steps
      steps = []
      const traces = [...asideTexts].map(([name, text]) => asideTrace(name, { text }))
      return [
        ...traces,
        ...rest.filter(({ answer, calls }) => answer.blocks.length + calls.length > 0).flatMap(write),
      ]
    },
  }
}

/** Most characters of an aside that arrives in chunks. */
const mostAside = 64 * 1024

function asideTrace(name: string, update: JsonObject): FoldEffect {
  return { type: 'trace', event: { type: 'agent_update', data: { update: name, ...update } } }
}

/** The bytes of a text, or the characters of its data. */
function sizeOf(block: Block): number {
  if ('data' in block && typeof block.data === 'string') return block.data.length
  return Buffer.byteLength(blockText(block))
}

function isWords({ type }: Block): boolean {
  return type === 'text' || type === 'thinking'
}

function pieceOf(block: Block): DraftedPiece {
  return { type: block.type === 'thinking' ? 'thinking' : 'text', text: blockText(block) }
}

/** Merges a change into a call: new fields replace old ones. An ended call stays ended, also while it waits
 *  to be written. */
function mergeCall(call: CallChange, news: CallChange): CallChange {
  const meta = call.meta && news.meta ? { meta: mergeMeta(call.meta, news.meta) } : {}
  return isCallEnded(call) && !isCallEnded(news)
    ? { ...call, ...news, ...meta, status: call.status! }
    : { ...call, ...news, ...meta }
}

/** Each agent has its own member, of which an update may contain a part. */
function mergeMeta(before: JsonObject, news: JsonObject): JsonObject {
  const merged: Record<string, Json> = { ...before }
  for (const [key, value] of Object.entries(news)) {
    const old = merged[key]
    merged[key] = isObject(old) && isObject(value) ? { ...old, ...value } : value
  }
  return merged
}

function isCallEnded({ status }: CallChange): boolean {
  return status === 'completed' || status === 'failed'
}

/** The stored form of a call. Fields for people only are in `metadata.acp`. */
function callToBlock(call: CallChange): ToolCallBlock {
  const { callId, title, kind, locations, meta, input = {} } = call
  const acp = {
    ...(title === undefined ? {} : { title }),
    ...(kind === undefined ? {} : { kind }),
    ...(locations === undefined ? {} : { locations }),
    ...(meta === undefined ? {} : { meta }),
  }
  return { type: 'tool_call', callId, name: toolName(call), input, ...withAcp(acp) }
}

/** The stored form of a result. Changes of the call after it was stored are kept with the result. */
function resultToBlock(
  call: CallChange,
  stored: ToolCallBlock,
  terminals: readonly TerminalRecord[],
): ToolResultBlock {
  const { callId, title, kind, locations, meta, input, status, content = [] } = call
  const output = callOutput(call, terminals)
  const before = isObject(stored.metadata?.acp) ? stored.metadata.acp : {}
  const acp = {
    ...differing('title', title, before.title),
    ...differing('kind', kind, before.kind),
    ...differing('locations', locations, before.locations),
    ...differing('input', input, stored.input),
    ...differing('meta', meta, before.meta),
    ...(terminals.length > 0 ? shownIn(terminals, output, call.output) : {}),
    ...(isTold(content, output) ? {} : { content }),
  }
  const isError = status === 'failed' ? { isError: true } : {}
  return { type: 'tool_result', callId, name: stored.name, output, ...isError, ...withAcp(acp) }
}

/** The output of a tool: as the agent sends it, else the text of its content and terminals. Some agents send
 *  an exit code as the output, and the text only to a terminal. */
function callOutput({ output, content = [] }: CallChange, terminals: readonly TerminalRecord[]): Json {
  const shown = terminals.map(terminal => terminal.output).filter(text => text !== '')
  if (output !== undefined && shown.every(text => contains(output, text.trim()))) return output
  return [...textsOf(content), ...shown].join('\n')
}

/** The terminals of a result, and the output as the agent sent it: none, the stored one, or another. */
function shownIn(terminals: readonly TerminalRecord[], output: Json, raw: Json | undefined): JsonObject {
  const sent = raw === undefined ? {} : raw === output ? { isRawOutput: true } : { rawOutput: raw }
  return { terminals: terminalsToJson(terminals, output), ...sent }
}

/** Whether one of the strings in a value contains a text. */
function contains(value: Json, text: string): boolean {
  if (typeof value === 'string') return value.includes(text)
  if (value === null || typeof value !== 'object') return false
  return Object.values(value).some(one => contains(one, text))
}

/** A name that every provider accepts: the agent's own, else the kind of tool, else the first word of the
 *  title. */
function toolName({ name, kind, title }: CallChange): string {
  const first = title?.trim().split(/\s+/)[0]
  return sanitised(name) || sanitised(kind === 'other' ? undefined : kind) || sanitised(first) || 'other'
}

function sanitised(name = ''): string {
  return name
    .replaceAll(/[^A-Za-z0-9_.:-]+/g, '_')
    .replaceAll(/^_+|_+$/g, '')
    .slice(0, 64)
}

/** Whether the output contains everything that the content shows. Then the content is not stored. */
function isTold(content: readonly JsonObject[], output: Json): boolean {
  const [only] = content
  if (only === undefined) return true
  return (
    content.length === 1 &&
    Object.keys(only).length === 2 &&
    isPlainText(only.content) &&
    only.content.text === output
  )
}

function isPlainText(content: Json | undefined): content is { readonly type: 'text'; readonly text: string } {
  return isObject(content) && Object.keys(content).length === 2 && content.type === 'text'
}

function textsOf(content: readonly JsonObject[]): readonly string[] {
  return content.flatMap(({ type, content: shown }) => {
    const isText = type === 'content' && isObject(shown) && shown.type === 'text'
    return isText && typeof shown.text === 'string' ? [shown.text] : []
  })
}

function differing(name: string, value: Json | undefined, before: Json | undefined): JsonObject {
  if (value === undefined || JSON.stringify(value) === JSON.stringify(before)) return {}
  return { [name]: value }
}

function withAcp(acp: JsonObject): { metadata?: JsonObject } {
  return Object.keys(acp).length > 0 ? { metadata: { acp } } : {}
}
