import type { ToolCallBlock, ToolResultBlock } from '../../core/block.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { outputParts } from '../../core/tool-output.ts'
import { isObject } from '../wire/is-object.ts'
import { contentFromBlock } from './content.ts'

/** A stored call and its result as one update. `id` differs from the stored id if an earlier call has the
 *  same one: clients identify calls by it. */
export function callUpdate(
  call: ToolCallBlock,
  id: string,
  result: ToolResultBlock | null,
  isErased: boolean,
): JsonObject {
  const acp = { ...acpOf(call.metadata), ...acpOf(result?.metadata) }
  const { title, kind, locations, input } = acp
  return {
    sessionUpdate: 'tool_call',
    toolCallId: id,
    title: typeof title === 'string' ? title : call.name,
    name: call.name,
    kind: typeof kind === 'string' ? kind : 'other',
    ...(Array.isArray(locations) ? { locations } : {}),
    rawInput: input ?? call.input,
    ...(result ? outcomeOf(result) : missing(isErased)),
  }
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
    status: result.isError ? 'failed' : 'completed',
    content: Array.isArray(content) ? content : contentsOf(result),
    rawOutput: result.output,
  }
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
