import { getErrorMessage, type LanguageModelV4ToolResultOutput } from '@ai-sdk/provider'
import type { NewMessage } from '../core/message.ts'
import { plainJson } from '../models/plain-json.ts'
import type { Once } from './recorded-once.ts'
import { resultBlock } from './v4-result.ts'

/** Who hears of the tools that run. */
export interface ToolWatcher {
  /** There is such a tool; `runs` if it runs here. */
  known(name: string, runs: boolean): void
  /** Resolves when it is durable that the tool is about to run. */
  started(callId: string, name: string): Promise<void>
  /** Resolves when the result is stored, or waits behind the answer that asked for it. */
  ended(callId: string, name: string, message: NewMessage): Promise<void>
}

/** As much of a tool of the AI SDK as is needed to watch it. */
interface AnyTool {
  readonly execute?: (input: unknown, options: { readonly toolCallId: string }) => unknown
  readonly toModelOutput?: (facts: {
    readonly toolCallId: string
    readonly input: unknown
    readonly output: unknown
  }) => LanguageModelV4ToolResultOutput | PromiseLike<LanguageModelV4ToolResultOutput>
}

/** The same tools, watched while they run. Tools that do not run here, or are watched already, are left as they are. */
export function watchTools<T extends object>(tools: T, watcher: ToolWatcher, once: Once): T {
  const watched = Object.entries(tools).map(([name, tool]) => [name, watchTool(name, tool, watcher, once)])
  return Object.fromEntries(watched) as T
}

function watchTool(name: string, tool: AnyTool, watcher: ToolWatcher, once: Once): AnyTool {
  const runs = typeof tool.execute === 'function'
  watcher.known(name, runs)
  if (!runs || once.isMarked(tool)) return tool
  const execute = watchExecute(name, tool as AnyTool & Required<Pick<AnyTool, 'execute'>>, watcher)
  return once.mark(Object.assign(Object.create(Object.getPrototypeOf(tool)), tool, { execute }))
}

type Execute = Required<AnyTool>['execute']

/** The SDK looks at what `execute` returns to see whether results come one after the other. So it must be known before
 *  the tool runs which kind it is; a plain function is the only kind that has to be called to find out. */
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
        const started = watcher.started(options.toolCallId, name)
        const result = attempt(() => tool.execute(input, options))
        if (isIterable(result)) return forwarded(options.toolCallId, input, async () => result, started)
        // It may fail before anybody looks; it will be looked at below.
        result.catch(() => undefined)
        return started.then(() => kept(options.toolCallId, input, () => result))
      }
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

  /** What the model will be given, as the SDK makes it. */
  async function modelOutput(
    toolCallId: string,
    input: unknown,
    output: unknown,
  ): Promise<LanguageModelV4ToolResultOutput> {
    try {
      if (tool.toModelOutput !== undefined) return await tool.toModelOutput({ toolCallId, input, output })
    } catch (error) {
      // The SDK will meet the same error and tell the caller. The result is worth keeping as it is.
      return { type: 'json', value: plainJson({ output, error: getErrorMessage(error) }) as never }
    }
    return typeof output === 'string'
      ? { type: 'text', value: output }
      : { type: 'json', value: JSON.parse(JSON.stringify(output) ?? 'null') }
  }

  function resultOf(callId: string, output: LanguageModelV4ToolResultOutput): NewMessage {
    return { role: 'tool_result', blocks: [resultBlock(callId, name, output)] }
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

function isIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}
