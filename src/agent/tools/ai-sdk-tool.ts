import type { LanguageModelV4ToolResultOutput } from '@ai-sdk/provider'
import { InvalidError } from '../../core/errors.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { toolResultBlock } from '../../models/tool-result-block.ts'
import {
  isStandardSchema,
  problemOfInput,
  readInputSchema,
  type StandardSchema,
  type ToolInput,
  valueOfInput,
} from './input-schema.ts'
import type { AgentTool, ToolContext, ToolOutcome } from './tool.ts'
import { resultOf } from './tool-result.ts'

/** A tool of the AI SDK, by its structure: `tool()` of the package `ai`, versions 5 to 7. */
export interface AiSdkTool {
  /** Tells the model what the tool does and when to use it. */
  readonly description?: unknown
  /** The schema of the input: of zod, of another Standard Schema, or `jsonSchema()` of the SDK. */
  readonly inputSchema: unknown
  /** Runs the tool. It gets the id of the call and the signal; `messages` is empty. */
  readonly execute?: (input: never, options: never) => unknown
  /** Whether a call needs an approval: always, never, or depending on the input. */
  readonly needsApproval?: boolean | ((input: never, options: never) => boolean | PromiseLike<boolean>)
  /** How the model sees the result. */
  readonly toModelOutput?: (facts: never) => unknown
}

/** Whether a value is a tool of the AI SDK. */
export function isAiSdkTool(value: unknown): value is AiSdkTool {
  return typeof value === 'object' && value !== null && 'inputSchema' in value && !('schema' in value)
}

/** A tool of the AI SDK as one of ours. Throws InvalidError for a tool that is executed elsewhere: by the
 *  provider, or by the application. */
export function readAiSdkTool(tool: AiSdkTool): AgentTool {
  const { description, execute, needsApproval } = tool
  if (typeof execute !== 'function')
    throw new InvalidError('tools', 'a tool of the AI SDK must have `execute`: the agent runs its tools')
  const input = inputOf(tool.inputSchema)
  return {
    description: typeof description === 'string' ? description : '',
    schema: input.schema,
    repeatable: false,
    readOnly: false,
    ...(needsApproval !== undefined && {
      needsApproval:
        typeof needsApproval === 'boolean'
          ? needsApproval
          : async (given, context) =>
              needsApproval((await valueOfInput(input, given)) as never, executionOptions(context) as never),
    }),
    check: given => problemOfInput(input, given),
    async run(given, context) {
      const value = (await valueOfInput(input, given)) as never
      const output = await lastOf(execute.call(tool, value, executionOptions(context) as never))
      return tool.toModelOutput === undefined ? resultOf(output) : shownOutcome(tool, given, output, context)
    },
  }
}

function executionOptions({ callId, signal }: Pick<ToolContext, 'callId' | 'signal'>) {
  return { toolCallId: callId, messages: [], abortSignal: signal, context: undefined }
}

/** A tool may yield preliminary results; the last one counts. */
async function lastOf(returned: unknown): Promise<unknown> {
  const value = await returned
  if (typeof value !== 'object' || value === null || !(Symbol.asyncIterator in value)) return value
  let last: unknown
  for await (const one of value as AsyncIterable<unknown>) last = one
  return last
}

async function shownOutcome(
  { toModelOutput }: AiSdkTool,
  input: Json,
  output: unknown,
  { callId, name }: ToolContext,
): Promise<ToolOutcome> {
  const shown = await toModelOutput?.({ toolCallId: callId, input, output } as never)
  const block = toolResultBlock(callId, name, shown as LanguageModelV4ToolResultOutput)
  return { output: block.output, isError: block.isError ?? false }
}

const sdkSchema = Symbol.for('vercel.ai.schema')

/** `jsonSchema()` of the SDK. */
interface SdkSchema {
  readonly jsonSchema: JsonObject | PromiseLike<JsonObject>
  readonly validate?: (value: unknown) => unknown
}

function inputOf(given: unknown): ToolInput<unknown> {
  // The SDK accepts a function that makes the schema.
  const schema = typeof given === 'function' && !isStandardSchema(given) ? given() : given
  if (typeof schema === 'object' && schema !== null && sdkSchema in schema)
    return sdkInput(schema as unknown as SdkSchema)
  return readInputSchema(schema as StandardSchema)
}

function sdkInput({ jsonSchema, validate }: SdkSchema): ToolInput<unknown> {
  return {
    schema: jsonSchema,
    async parse(value) {
      if (validate === undefined) return readInputSchema(await jsonSchema).parse(value)
      const result = (await validate(value)) as { success: boolean; value?: unknown; error?: Error }
      return result.success ? { value: result.value } : { problem: `✖ ${result.error?.message}` }
    },
  }
}
