import { getErrorMessage, type LanguageModelV4ToolResultOutput } from '@ai-sdk/provider'
import { checkObject } from '../../core/check.ts'
import type { NewMessage } from '../../core/message.ts'
import { plainJson } from '../../models/plain-json.ts'
import { toolResultBlock } from '../../models/tool-result-block.ts'
import type { RecordingScope } from './recording-scope.ts'

/** Observes the tools that run. */
export interface ToolWatcher {
  /** Registers a tool. */
  known(name: string, facts: ToolFacts): void
  /** Notes that calls of this tool, or of any tool, may need an approval. */
  mayAsk(name?: string): void
  /** Whether calls of this tool may need an approval. */
  asks(name: string): boolean
  /** Decides with `needs` whether a call needs an approval, and stores the request if it does. */
  decide(call: DecidedCall, needs: () => Promise<ApprovalNeed>): Promise<void>
  /** Resolves when the start of the tool is stored. The tool runs after that. Throws if an approved call must
   *  not run: another process runs it, or it was denied meanwhile. */
  started(callId: string, name: string): Promise<void>
  /** Resolves when the result is stored, or is queued because the answer that called the tool is not stored
   *  yet. */
  ended(callId: string, name: string, message: NewMessage): Promise<void>
}

/** What the recorder knows about a tool. */
export interface ToolFacts {
  /** It is executed here. */
  readonly runs: boolean
  /** Its calls may need an approval. */
  readonly asks: boolean
}

/** A call whose approval is decided, with the input that would run. */
export interface DecidedCall {
  readonly callId: string
  readonly name: string
  readonly input: unknown
}

/** Whether a person has to approve a call, and why. */
export interface ApprovalNeed {
  readonly isNeeded: boolean
  readonly reason: string | null
}

type NeedsApproval = boolean | ((input: unknown, options: { readonly toolCallId: string }) => unknown)

/** The part of an AI SDK tool that is used here. */
interface AnyTool {
  readonly needsApproval?: NeedsApproval
  readonly execute?: (input: unknown, options: { readonly toolCallId: string }) => unknown
  readonly toModelOutput?: (facts: {
    readonly toolCallId: string
    readonly input: unknown
    readonly output: unknown
  }) => LanguageModelV4ToolResultOutput | PromiseLike<LanguageModelV4ToolResultOutput>
}

/** The same tools, observed. Tools that are not executed here, or are already observed, are returned
 *  unchanged. */
export function watchTools<T extends object>(tools: T, watcher: ToolWatcher, scope: RecordingScope): T {
  checkObject(tools, 'tools', 'an object of tools by name')
  const watched = Object.entries(tools).map(([name, tool]) => {
    checkObject(tool, `tools.${name}`, 'a tool of the AI SDK')
    return [name, watchTool(name, tool, watcher, scope)]
  })
  return Object.fromEntries(watched) as T
}

function watchTool(name: string, tool: AnyTool, watcher: ToolWatcher, scope: RecordingScope): AnyTool {
  const runs = typeof tool.execute === 'function'
  const { needsApproval = false } = tool
  watcher.known(name, { runs, asks: needsApproval !== false })
  if (!runs || scope.isMarked(tool)) return tool
  const execute = watchExecute(name, tool as AnyTool & Required<Pick<AnyTool, 'execute'>>, watcher)
  const changed = needsApproval === false ? {} : { needsApproval: watchNeed(name, needsApproval, watcher) }
  return scope.mark(Object.assign(Object.create(Object.getPrototypeOf(tool)), tool, { execute, ...changed }))
}

function watchNeed(name: string, needsApproval: NeedsApproval, watcher: ToolWatcher): NeedsApproval {
  return async (input, options) => {
    let isNeeded = true
    await watcher.decide({ callId: options.toolCallId, name, input }, async () => {
      if (typeof needsApproval === 'function') isNeeded = Boolean(await needsApproval(input, options))
      return { isNeeded, reason: null }
    })
    return isNeeded
  }
}

type Execute = Required<AnyTool>['execute']

/** The SDK inspects the return value of `execute` to see whether a tool yields several results. The wrapper
 *  has to return the same kind before the tool runs. The kind of an async function or generator is known; a
 *  plain function has to be called to find out. */
function watchExecute(
  name: string,
  tool: AnyTool & { readonly execute: Execute },
  watcher: ToolWatcher,
): Execute {
  switch (Object.prototype.toString.call(tool.execute)) {
    case '[object AsyncGeneratorFunction]':
      return (input, options) =>
        forwarded(
          options.toolCallId,
          input,
          async () => tool.execute(input, options) as AsyncIterable<unknown>,
        )
    case '[object AsyncFunction]':
      return async (input, options) => {
        await watcher.started(options.toolCallId, name)
        return kept(options.toolCallId, input, async () => tool.execute(input, options))
      }
    default:
      return (input, options) => {
        // A call that may have been approved in another process must not run before its start is stored.
        if (watcher.asks(name)) return startedFirst(input, options)
        const started = watcher.started(options.toolCallId, name)
        const result = attempt(() => tool.execute(input, options))
        if (isIterable(result)) return forwarded(options.toolCallId, input, async () => result, started)
        // Observed below, after `started`. It may fail before that.
        result.catch(() => undefined)
        return started.then(() => kept(options.toolCallId, input, () => result))
      }
  }

  async function startedFirst(...[input, options]: Parameters<Execute>): Promise<unknown> {
    await watcher.started(options.toolCallId, name)
    return kept(options.toolCallId, input, () => lastOf(attempt(() => tool.execute(input, options))))
  }

  async function* forwarded(
    callId: string,
    input: unknown,
    run: () => Promise<AsyncIterable<unknown>>,
    started = watcher.started(callId, name),
  ): AsyncGenerator<unknown> {
    await started
    let last: unknown
    let whole = false
    try {
      for await (const output of await run()) {
        last = output
        yield output
      }
      whole = true
    } catch (error) {
      await failed(callId, error)
      whole = true
      throw error
    } finally {
      if (!whole) await failed(callId, 'the tool was stopped before it had ended')
    }
    await succeeded(callId, input, last)
  }

  async function kept(callId: string, input: unknown, run: () => Promise<unknown>): Promise<unknown> {
    let output: unknown
    try {
      output = await run()
    } catch (error) {
      await failed(callId, error)
      throw error
    }
    await succeeded(callId, input, output)
    return output
  }

  async function succeeded(callId: string, input: unknown, output: unknown): Promise<void> {
    await watcher.ended(callId, name, resultOf(callId, await modelOutput(callId, input, output)))
  }

  async function failed(callId: string, error: unknown): Promise<void> {
    await watcher.ended(callId, name, resultOf(callId, { type: 'error-text', value: getErrorMessage(error) }))
  }

  /** The output that the SDK will send to the model. */
  async function modelOutput(
    toolCallId: string,
    input: unknown,
    output: unknown,
  ): Promise<LanguageModelV4ToolResultOutput> {
    try {
      if (tool.toModelOutput !== undefined) return await tool.toModelOutput({ toolCallId, input, output })
    } catch (error) {
      // The SDK will throw the same error to the caller. The result is stored unconverted.
      return { type: 'json', value: plainJson({ output, error: getErrorMessage(error) }) as never }
    }
    return typeof output === 'string'
      ? { type: 'text', value: output }
      : { type: 'json', value: JSON.parse(JSON.stringify(output) ?? 'null') }
  }

  function resultOf(callId: string, output: LanguageModelV4ToolResultOutput): NewMessage {
    return { role: 'tool_result', content: [toolResultBlock(callId, name, output)] }
  }
}

function attempt(run: () => unknown): AsyncIterable<unknown> | Promise<unknown> {
  try {
    const result = run()
    return isIterable(result) ? result : Promise.resolve(result)
  } catch (error) {
    return Promise.reject(error)
  }
}

async function lastOf(result: AsyncIterable<unknown> | Promise<unknown>): Promise<unknown> {
  if (!isIterable(result)) return result
  let last: unknown
  for await (const output of result) last = output
  return last
}

function isIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}
