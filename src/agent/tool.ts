import { type ZodType, z } from 'zod'
import { InvalidError } from '../core/errors.ts'
import type { ConversationId, MessageId } from '../core/ids.ts'
import type { Json, JsonObject } from '../core/json.ts'
import type { Message } from '../core/message.ts'
import type { ToolSpec } from '../core/model.ts'
import type { Usage } from '../core/turn.ts'
import type { AgentEvent } from './events.ts'

/** Where and why a tool runs. */
export interface ToolContext {
  readonly callId: string
  readonly name: string
  /** Aborted when the run is: a tool that takes long should listen to it. */
  readonly signal: AbortSignal
  /** The conversation that asked, and the message that holds the call; null if nothing is stored. */
  readonly conversationId: ConversationId | null
  readonly messageId: MessageId | null
  /** What the agent knows of the conversation, oldest first. Large results may hold only their beginning. */
  readonly messages: readonly Message[]
  /** Shows the person what the tool is doing. */
  emit(event: AgentEvent): void
}

/** What a tool brought. */
export interface ToolOutcome {
  readonly output: Json
  readonly isError?: boolean
  /** What models charged while it ran: a subagent's usage. */
  readonly usage?: Usage
  /** Facts for the trace, never shown to a model. */
  readonly trace?: JsonObject
}

/** A tool as the agent runs it. */
export interface AgentTool {
  readonly description: string
  /** A JSON schema of an object. */
  readonly schema: JsonObject
  /** True if running it twice does no harm: then it is run again after a crash in the middle of it. */
  readonly repeatable: boolean
  /** Never called with an input that `check` has refused. */
  run(input: Json, context: ToolContext): Promise<ToolOutcome>
  /** What is wrong with an input, in words for the model; null if nothing is. */
  check(input: Json): string | null | Promise<string | null>
}

export interface ToolDefinition<Input> {
  readonly description: string
  readonly input: ZodType<Input>
  readonly repeatable?: boolean
  /** Its value becomes the result: anything that JSON can hold. What it throws becomes an error result. */
  readonly run: (input: Input, context: ToolContext) => unknown
}

/** A tool whose input has a zod schema.
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
export function tool<Input>(definition: ToolDefinition<Input>): AgentTool {
  const { description, input, repeatable = false, run } = definition
  return {
    description,
    ...inputBy(input),
    repeatable,
    run: async (given, context) => ({ output: jsonOf(await run(await input.parseAsync(given), context)) }),
  }
}

/** The parts of a tool that its input's schema decides. */
export function inputBy(schema: ZodType): Pick<AgentTool, 'schema' | 'check'> {
  return {
    schema: schemaOf(schema),
    async check(input) {
      const parsed = await schema.safeParseAsync(input)
      return parsed.success ? null : z.prettifyError(parsed.error)
    },
  }
}

function schemaOf(schema: ZodType): JsonObject {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: 'input' }) as JsonObject
  if (rest.type !== 'object') throw new InvalidError('input', 'the input of a tool must be an object')
  return rest
}

/** What JSON makes of a value; nothing becomes null. */
export function jsonOf(value: unknown): Json {
  return value === undefined ? null : (JSON.parse(JSON.stringify(value) ?? 'null') as Json)
}

/** The tool that reads on in large results. */
export const readResultName = 'read_result'

export type Tools = Readonly<Record<string, AgentTool>>

/** The tools as a model is told of them. */
export function specsOf(tools: Tools): readonly ToolSpec[] {
  return Object.entries(tools).map(([name, { description, schema }]) => ({ name, description, schema }))
}

/** Refuses names that no provider takes. */
export function checkTools(tools: Tools): void {
  for (const name of Object.keys(tools)) {
    if (!/^[a-zA-Z0-9_-]{1,64}$/.test(name))
      throw new InvalidError('tools', `${JSON.stringify(name)} cannot be the name of a tool`)
    if (name === readResultName)
      throw new InvalidError('tools', `${name} is a tool that every agent has: give yours another name`)
  }
}
