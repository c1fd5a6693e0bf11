import type { ToolCallBlock, ToolResultBlock } from '../../core/block.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { outputParts } from '../../core/tool-output.ts'
import { isObject } from '../wire/is-object.ts'
import { contentFromBlock } from './content.ts'
import { type TerminalRecord, terminalsFromJson } from './terminal.ts'

/** The `_meta` key under which a client shows the output of a terminal; null if it shows only its own
 *  terminals. */
export type TerminalKey = 'terminal_output' | 'terminal_output_delta' | null

/** Reads the capabilities of a client. */
export function terminalKeyOf(capabilities: unknown): TerminalKey {
  const meta = isObject(capabilities) ? capabilities._meta : null
  if (!isObject(meta)) return null
  if (meta.terminal_output === true) return 'terminal_output'
  return meta.terminal_output_delta === true ? 'terminal_output_delta' : null
}

/** A stored call and its result as one update; as several if its output is shown in a terminal, as agents
 *  send it. `id` differs from the stored id if an earlier call has the same one: clients identify calls by
 *  it. */
export function callUpdates(
  call: ToolCallBlock,
  id: string,
  result: ToolResultBlock | null,
  isErased: boolean,
  terminalKey: TerminalKey,
): readonly JsonObject[] {
  const acp = { ...acpOf(call.metadata), ...acpOf(result?.metadata) }
  const { title, kind, locations, input, meta } = acp
  const announced = {
    sessionUpdate: 'tool_call',
    toolCallId: id,
    title: typeof title === 'string' ? title : call.name,
    name: call.name,
    kind: typeof kind === 'string' ? kind : 'other',
    ...(Array.isArray(locations) ? { locations } : {}),
    rawInput: input ?? call.input,
    ...(isObject(meta) ? { _meta: meta } : {}),
  }
  const [terminal, ...others] = result ? terminalsOf(result) : []
  // `terminal_info` can announce one terminal only.
  if (result && terminal && others.length === 0 && terminalKey !== null)
    return inTerminal(announced, id, result, terminal, terminalKey)
  return [{ ...announced, ...(result ? outcomeOf(result) : missing(isErased)) }]
}

/** A call with a terminal in the form in which agents send it: announced with the terminal, then its output,
 *  then its end. The terminal has the id of the call: the client may have another terminal with its old
 *  id. */
function inTerminal(
  announced: JsonObject,
  id: string,
  result: ToolResultBlock,
  { info, output, exit, terminalId }: TerminalRecord,
  key: NonNullable<TerminalKey>,
): readonly JsonObject[] {
  const {
    content,
    isRawOutput,
    rawOutput = isRawOutput === true ? result.output : undefined,
  } = acpOf(result.metadata)
  const shown = Array.isArray(content) ? content : []
  const others = shown.filter(one => !isTerminal(one, terminalId))
  const named = { terminal_id: id }
  const update = { sessionUpdate: 'tool_call_update', toolCallId: id }
  const meta = isObject(announced._meta) ? announced._meta : {}
  return [
    {
      ...announced,
      status: 'in_progress',
      content: [...others, { type: 'terminal', terminalId: id }],
      _meta: { ...meta, terminal_info: { ...info, ...named } },
    },
    ...(output === '' ? [] : [{ ...update, _meta: { [key]: { ...named, data: output } } }]),
    {
      ...update,
      status: statusOf(result),
      ...(rawOutput === undefined ? {} : { rawOutput }),
      _meta: { ...meta, terminal_exit: { ...(exit ?? { exit_code: null, signal: null }), ...named } },
    },
  ]
}

function terminalsOf(result: ToolResultBlock): readonly TerminalRecord[] {
  return terminalsFromJson(acpOf(result.metadata).terminals, result.output)
}

function isTerminal(content: Json, terminalId: string): boolean {
  return isObject(content) && content.type === 'terminal' && content.terminalId === terminalId
}

function statusOf({ isError }: ToolResultBlock): string {
  return isError ? 'failed' : 'completed'
}

/** An update for a result without a call. */
export function loneResultUpdate(result: ToolResultBlock): JsonObject {
  const { callId, name = 'tool' } = result
  return {
    sessionUpdate: 'tool_call',
    toolCallId: callId,
    title: name,
    name,
    kind: 'other',
    ...outcomeOf(result),
  }
}

function outcomeOf(result: ToolResultBlock): JsonObject {
  const { content } = acpOf(result.metadata)
  return {
    status: statusOf(result),
    content: Array.isArray(content) ? withTerminalText(content, terminalsOf(result)) : contentsOf(result),
    rawOutput: result.output,
  }
}

/** The content with the text of terminals that no longer exist in their place. */
function withTerminalText(content: readonly Json[], terminals: readonly TerminalRecord[]): readonly Json[] {
  return content.flatMap(one => {
    const terminal = terminals.find(({ terminalId }) => isTerminal(one, terminalId))
    if (!terminal) return [one]
    return terminal.output === '' ? [] : [textContent(terminal.output)]
  })
}

function missing(isErased: boolean): JsonObject {
  return isErased
    ? { status: 'completed', content: [textContent('[erased]')] }
    : { status: 'failed', content: [textContent('interrupted, outcome unknown')] }
}

function contentsOf(result: ToolResultBlock): readonly JsonObject[] {
  const parts = outputParts(result) ?? [inWords(result.output)]
  return parts.flatMap(part => {
    if (typeof part === 'string') return part === '' ? [] : [textContent(part)]
    const content = contentFromBlock(part)
    return content ? [{ type: 'content', content }] : []
  })
}

function inWords(output: Json): string {
  return typeof output === 'string' ? output : JSON.stringify(output, null, 2)
}

function textContent(text: string): JsonObject {
  return { type: 'content', content: { type: 'text', text } }
}

function acpOf(metadata: JsonObject | undefined): JsonObject {
  return isObject(metadata?.acp) ? metadata.acp : {}
}
