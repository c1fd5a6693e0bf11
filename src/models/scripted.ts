import { randomBytes } from 'node:crypto'
import type { Block, TextBlock } from '../core/block.ts'
import { checkList, checkObject } from '../core/check.ts'
import { ContextLengthError, ModelError } from '../core/errors.ts'
import type { Json } from '../core/json.ts'
import type { Finish, Model, ModelAnswer, ModelEvent, ModelRequest } from '../core/model.ts'
import { estimateTokens } from '../core/tokens.ts'
import type { Usage } from '../core/turn.ts'
import { unlessAborted } from '../core/wait.ts'
import { sleep as realSleep, type Sleep } from '../system/sleep.ts'
import { answerFor } from './scripted-answers.ts'

/** A tool call in a script. Default id: a new one. */
export interface ScriptedCall {
  /** The name of the tool. */
  readonly name: string
  /** The arguments of the call. */
  readonly input: Json
  /** Identifies the call. Has to be unique in a conversation. */
  readonly id?: string
}

/** An answer of a script: thinking first, then text, then calls. */
export interface ScriptedAnswer {
  /** A thinking block before the text. Default: none. */
  readonly thinking?: string
  /** The text, which is streamed word by word. Default: none. */
  readonly text?: string
  /** Tool calls after the text. Default: none. */
  readonly calls?: readonly ScriptedCall[]
  /** Default: `tool_calls` if there are calls, otherwise `stop`. */
  readonly finish?: Finish
  /** The usage to report. Default: characters / 4 of the request and of the answer. */
  readonly usage?: Usage
  /** The delay before each piece. */
  readonly delayMs?: number
  /** Waits for this before the n-th piece, counted from 0. */
  readonly gate?: (n: number) => PromiseLike<unknown>
  /** Breaks off after this many pieces, like a lost connection. */
  readonly breakAfter?: number
}

/** The reply to a call: an answer, a failure with a status, or a context length error. */
export type ScriptedReply =
  | string
  | ScriptedAnswer
  | {
      /** Fails with this HTTP status. 408, 429 and 5xx are retryable. */
      readonly fail: number
      /** The text of the error. */
      readonly message?: string
      /** The wait that the provider asks for, in milliseconds. */
      readonly retryAfterMs?: number
    }
  | {
      /** Refuses the context as too long, for a window of this many tokens. */
      readonly overflow: number
    }

/** What a scripted model answers, and how fast. */
export interface ScriptedOptions {
  /** Default: `scripted`. */
  readonly id?: string
  /** Replies for the first calls, in order; after them the model answers by itself. A function is called for
   *  every call, and may return null to let the model answer by itself. */
  readonly script?: readonly ScriptedReply[] | ((request: ModelRequest, call: number) => ScriptedReply | null)
  /** Refuses contexts with more tokens than this, like a provider. */
  readonly window?: number
  /** Makes the id of a call. Default: random, because ids must be unique in a conversation. */
  readonly newId?: () => string
  /** The default delay before each piece of an answer. */
  readonly delayMs?: number
  /** Waits for `delayMs`. Default: a timer. Tests inject another one. */
  readonly sleep?: Sleep
}

/** A model without a provider: offline and deterministic, for tests, demos and first use. It answers only
 *  from the messages of the context. A line of a message such as `/tool name {…}`, `/slow words` or `/fail
 *  429` controls it: see `directed`.
 *
 * @example
 * ```ts
 * import { createAgent } from 'skein/agent'
 * import { scripted } from 'skein/models'
 *
 * // In tests: these replies, one after the other.
 * const model = scripted({ script: ['First.', { text: 'Second.', usage: { input: 10, output: 2 } }] })
 * await using agent = createAgent({ model })
 * console.log((await agent.ask('test', 'hello')).text) // First.
 * console.log((await agent.ask('test', 'again')).usage.input) // 10
 * ```
 */
export function scripted(options: ScriptedOptions = {}): Model {
  checkObject(options, 'options')
  if (typeof options.script !== 'function' && options.script !== undefined)
    checkList(options.script, 'script', 'a list of replies or a function')
  const id = options.id ?? 'scripted'
  let calls = 0
  return {
    id,
    stream(request) {
      const call = calls++
      const { script } = options
      const given = typeof script === 'function' ? script(request, call) : script?.[call]
      return play(id, request, given ?? answerFor(request), options)
    },
  }
}

async function* play(
  id: string,
  request: ModelRequest,
  reply: ScriptedReply,
  options: ScriptedOptions,
): AsyncGenerator<ModelEvent> {
  request.signal?.throwIfAborted()
  const input = tokensOf(request)
  if (options.window !== undefined && input > options.window) throw tooLong(id, options.window, input)
  if (typeof reply === 'object' && 'overflow' in reply) throw tooLong(id, reply.overflow, input)
  if (typeof reply === 'object' && 'fail' in reply) throw failure(id, reply)
  const answer = typeof reply === 'string' ? { text: reply } : (reply as ScriptedAnswer)
  const { blocks, finish } = shortened(
    blocksOf(answer, options.newId ?? randomId),
    finishOf(answer),
    request.maxOutput,
  )
  let n = 0
  for (const piece of blocks.flatMap(piecesOf)) {
    if (n === answer.breakAfter) throw new ModelError(id, 'the answer broke off', { retryable: true })
    if (answer.gate !== undefined) await unlessAborted(answer.gate(n), request.signal)
    const delayMs = answer.delayMs ?? options.delayMs
    if (delayMs !== undefined) await (options.sleep ?? realSleep)(delayMs, request.signal)
    request.signal?.throwIfAborted()
    yield piece
    n++
  }
  if (answer.breakAfter !== undefined) throw new ModelError(id, 'the answer broke off', { retryable: true })
  request.signal?.throwIfAborted()
  const usage = answer.usage ?? { input, output: estimateTokens(blocks) }
  yield { type: 'answer', answer: { content: blocks, finish, usage, model: id } satisfies ModelAnswer }
}

function tooLong(id: string, limit: number, needed: number): ContextLengthError {
  return new ContextLengthError(`${id}: the context has ${needed} tokens, the window ${limit}`, {
    limit,
    needed,
  })
}

function failure(
  id: string,
  { fail, message, retryAfterMs }: Extract<ScriptedReply, { fail: number }>,
): ModelError {
  const retryable = fail === 408 || fail === 429 || fail >= 500
  const facts = { status: fail, retryable, ...(retryAfterMs !== undefined && { retryAfterMs }) }
  return new ModelError(id, message ?? `answered ${fail}, as it was told to`, facts)
}

function tokensOf({ messages, tools }: ModelRequest): number {
  const described = tools === undefined || tools.length === 0 ? 0 : estimateTokens(JSON.stringify(tools))
  return messages.reduce((sum, message) => sum + estimateTokens(message.content), described)
}

function blocksOf(answer: ScriptedAnswer, newId: () => string): readonly Block[] {
  const blocks: Block[] = []
  if (answer.thinking) blocks.push({ type: 'thinking', text: answer.thinking })
  if (answer.text) blocks.push({ type: 'text', text: answer.text })
  for (const call of answer.calls ?? []) {
    const callId = call.id ?? newId()
    blocks.push({ type: 'tool_call', callId, name: call.name, input: call.input })
  }
  return blocks
}

function randomId(): string {
  return `call_${randomBytes(9).toString('hex')}`
}

function finishOf(answer: ScriptedAnswer): Finish {
  return answer.finish ?? ((answer.calls?.length ?? 0) > 0 ? 'tool_calls' : 'stop')
}

/** Cuts the text at the limit of the request. */
function shortened(blocks: readonly Block[], finish: Finish, maxOutput: number | undefined) {
  if (maxOutput === undefined || estimateTokens(blocks) <= maxOutput) return { blocks, finish }
  const cut = blocks.map(block =>
    isText(block) ? { ...block, text: block.text.slice(0, maxOutput * 4) } : block,
  )
  return blocks.some(isText) ? { blocks: cut, finish: 'length' as const } : { blocks, finish }
}

function isText(block: Block): block is TextBlock {
  return block.type === 'text'
}

/** Word by word, as models stream. */
function piecesOf(block: Block): readonly ModelEvent[] {
  if (block.type !== 'text' && block.type !== 'thinking') return []
  const { type } = block
  return (String(block.text).match(/\s*\S+|\s+$/g) ?? []).map(text => ({ type, text }))
}
