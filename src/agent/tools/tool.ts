import type { CallKind } from '../../core/approval.ts'
import { checkCount, checkObject } from '../../core/check.ts'
import { InvalidError } from '../../core/errors.ts'
import type { ConversationId, MessageId } from '../../core/ids.ts'
import { type Json, type JsonObject, typeName } from '../../core/json.ts'
import type { Message } from '../../core/message.ts'
import type { ToolSpec } from '../../core/model.ts'
import type { Usage } from '../../core/turn.ts'
import type { ApprovalDetails, Approve } from '../approval/approval.ts'
import type { AgentEvent } from '../run/events.ts'
import { type AiSdkTool, isAiSdkTool, readAiSdkTool } from './ai-sdk-tool.ts'
import { problemOfInput, readInputSchema, type StandardSchema, valueOfInput } from './input-schema.ts'
import { resultOf } from './tool-result.ts'

/** The setting in which a tool runs. */
export interface ToolContext {
  /** Identifies the call within its conversation. */
  readonly callId: string
  /** The name that the model called, which is the tool's key in `AgentOptions.tools`. */
  readonly name: string
  /** Aborted with the run. A tool that takes long should listen to it. */
  readonly signal: AbortSignal
  /** The conversation, and the message with the call; null if nothing is stored. */
  readonly conversationId: ConversationId | null
  /** The stored message that contains the call. Null if it is queued, or if there is no store. */
  readonly messageId: MessageId | null
  /** The messages that the agent knows, oldest first. Large results may have only their beginning. */
  readonly messages: readonly Message[]
  /** Asks as the agent of this call asks. Absent if it cannot ask. A tool that runs another agent passes it
   *  on. */
  readonly approve?: Approve
  /** Reports to the reader of the run's events. */
  emit(event: AgentEvent): void
}

/** Whether a call must be approved before it runs, and what a person has to know about it. An error that it
 *  throws becomes the result of the call, which is then not asked for. */
export type ApprovalCheck<Input> = (
  input: Input,
  context: Pick<ToolContext, 'callId' | 'name' | 'signal'>,
) => boolean | ApprovalDetails | Promise<boolean | ApprovalDetails>

/** The outcome of a tool. */
export interface ToolOutcome {
  /** The result for the model. It is stored as the output of a tool result. */
  readonly output: Json
  /** Marks the result as an error. Default: false. */
  readonly isError?: boolean
  /** The usage of models that it called, such as a subagent's. */
  readonly usage?: Usage
  /** Facts for the trace. They are not sent to a model. */
  readonly trace?: JsonObject
}

/** A tool of an agent. */
export interface AgentTool {
  /** Tells the model what the tool does and when to use it. */
  readonly description: string
  /** The JSON schema of the input, an object. A promise if the schema has to be converted first. */
  readonly schema: JsonObject | PromiseLike<JsonObject>
  /** True if it may run twice: then it is run again after a crash during its run. */
  readonly repeatable: boolean
  /** True if it changes nothing: then it may run where no person can be asked. Default: false. */
  readonly readOnly?: boolean
  /** What its calls do. Default: guessed from its name. */
  readonly kind?: CallKind
  /** Whether its calls need an approval. Default: if the agent has `approve`, they do unless the tool is
   *  read-only. Where no approval can be had, a call that needs one is denied. */
  readonly needsApproval?: boolean | ApprovalCheck<Json>
  /** How long a call may take. Its signal is aborted then, and the result says so. Default: no limit. */
  readonly timeoutMs?: number
  /** Called only with an input that `check` accepts. */
  run(input: Json, context: ToolContext): Promise<ToolOutcome>
  /** What is wrong with an input, in a text for the model; null if it is valid. */
  check(input: Json): string | null | Promise<string | null>
}

/** A tool as an application writes it. */
export interface ToolDefinition<Input> {
  /** Tells the model what the tool does and when to use it. */
  readonly description: string
  /** The schema of the input, which must describe an object: of zod 3.25 or 4, of another library that
   *  implements Standard Schema, or a JSON schema. An input that it refuses becomes an error result. */
  readonly input: StandardSchema<Input> | JsonObject
  /** The JSON schema of `input`, for libraries that give none, such as valibot. Default: the library's. */
  readonly jsonSchema?: JsonObject
  /** Whether the tool may run twice with the same input: then it is run again after a crash during its run.
   *  Default: false. */
  readonly repeatable?: boolean
  /** Whether the tool changes nothing: then it may run where no person can be asked. Default: false. */
  readonly readOnly?: boolean
  /** What its calls do, for the person who is asked. Default: guessed from its name. */
  readonly kind?: CallKind
  /** Whether its calls need an approval before they run: always, never, or depending on the input.
   *  Default: if the agent has `approve`, they do unless the tool is read-only. */
  readonly needsApproval?: boolean | ApprovalCheck<Input>
  /** How long a call may take, in milliseconds. Its signal is aborted then, and the model is told that the
   *  call was stopped. Default: no limit. */
  readonly timeoutMs?: number
  /** Its return value becomes the result: any JSON value, or a list of `text` and `image` blocks, which the
   *  model sees as images: `[{ type: 'image', mime: 'image/png', data: base64 }]`. An error that it throws
   *  becomes an error result. */
  readonly run: (input: Input, context: ToolContext) => unknown
}

/** A tool of an agent, from a definition or from a tool of the AI SDK.
 *
 * @example
 * ```ts
 * import { createAgent, tool } from 'skein/agent'
 * import { scripted } from 'skein/models'
 * import { z } from 'zod'
 *
 * const add = tool({
 *   description: 'Adds two numbers',
 *   input: z.object({ a: z.number(), b: z.number() }),
 *   repeatable: true,
 *   run: ({ a, b }) => a + b,
 * })
 * const script = [{ calls: [{ name: 'add', input: { a: 1, b: 2 } }] }, 'It is 3.']
 * await using agent = createAgent({ model: scripted({ script }), tools: { add } })
 * for await (const event of agent.send('sums', 'What is 1 + 2?')) {
 *   if (event.type === 'tool_ended') console.log(event.name, event.output) // add 3
 *   if (event.type === 'ended') console.log(event.reply.text) // It is 3.
 * }
 * ```
 */
export function tool<Input>(definition: ToolDefinition<Input>): AgentTool
export function tool(definition: AiSdkTool): AgentTool
export function tool<Input>(definition: ToolDefinition<Input> | AiSdkTool): AgentTool {
  checkObject(definition, 'tool', 'a definition with a description, an input and run')
  if (isAiSdkTool(definition)) return readAiSdkTool(definition)
  const {
    description,
    input,
    jsonSchema,
    repeatable = false,
    readOnly = false,
    kind,
    needsApproval,
    timeoutMs,
    run,
  } = definition
  if (timeoutMs !== undefined) checkCount(timeoutMs, 'timeoutMs', 1, longestTimeoutMs)
  const read = readInputSchema(input, jsonSchema)
  if (typeof run !== 'function') throw new InvalidError('run', `must be a function, got ${typeName(run)}`)
  return {
    description,
    schema: read.schema,
    check: given => problemOfInput(read, given),
    repeatable,
    readOnly,
    ...(kind !== undefined && { kind }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(needsApproval !== undefined && {
      needsApproval:
        typeof needsApproval === 'boolean'
          ? needsApproval
          : async (given, context) => needsApproval(await valueOfInput(read, given), context),
    }),
    run: async (given, context) => resultOf(await run(await valueOfInput(read, given), context)),
  }
}

/** The longest time that a timer of Node can have: 24 days. */
const longestTimeoutMs = 2 ** 31 - 1

/** The name of the tool that reads the rest of large results. */
export const readResultName = 'read_result'

/** Tools by the name under which a model calls them. */
export type Tools = Readonly<Record<string, AgentTool>>

/** The descriptions of the tools for a model. */
export function specsOf(tools: Tools): Promise<readonly ToolSpec[]> {
  const named = Object.entries(tools)
  return Promise.all(
    named.map(async ([name, { description, schema }]) => ({ name, description, schema: await schema })),
  )
}

/** The tools of an agent; those of the AI SDK become ours. Refuses names that no provider accepts. */
export function agentTools(tools: Readonly<Record<string, AgentTool | AiSdkTool>>): Tools {
  for (const name of Object.keys(tools)) {
    if (!/^[a-zA-Z0-9_-]{1,64}$/.test(name))
      throw new InvalidError('tools', `${JSON.stringify(name)} cannot be the name of a tool`)
    if (name === readResultName)
      throw new InvalidError('tools', `${name} is a tool that every agent has: give yours another name`)
  }
  const read = Object.entries(tools).map(([name, one]) => [name, readTool(name, one)] as const)
  return Object.fromEntries(read)
}

function readTool(name: string, given: AgentTool | AiSdkTool): AgentTool {
  if (isAiSdkTool(given)) return readAiSdkTool(given)
  if (typeof given?.run === 'function' && typeof given.check === 'function') return given
  throw new InvalidError('tools', `${name} must be made with tool(), got ${typeName(given)}`)
}
