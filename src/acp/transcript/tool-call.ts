import type { ToolCallBlock, ToolResultBlock } from '../../core/block.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { isObject } from '../wire/is-object.ts'
import type { CallChange } from './heard.ts'

/** Merges a change into a call: new fields replace old ones. An ended call stays ended, also while it waits
 *  to be written. */
export function mergeCall(call: CallChange, news: CallChange): CallChange {
  return isCallEnded(call) && !isCallEnded(news)
    ? { ...call, ...news, status: call.status! }
    : { ...call, ...news }
}

export function isCallEnded({ status }: CallChange): boolean {
  return status === 'completed' || status === 'failed'
}

/** The stored form of a call. Fields for people only are in `metadata.acp`. */
export function callToBlock(call: CallChange): ToolCallBlock {
  const { callId, title, kind, locations, input = {} } = call
  const acp = {
    ...(title === undefined ? {} : { title }),
    ...(kind === undefined ? {} : { kind }),
    ...(locations === undefined ? {} : { locations }),
  }
  return { type: 'tool_call', callId, name: toolName(call), input, ...withAcp(acp) }
}

/** The stored form of a result. Changes of the call after it was stored are kept with the result. */
export function resultToBlock(call: CallChange, stored: ToolCallBlock): ToolResultBlock {
  const { callId, title, kind, locations, input, status, content = [] } = call
  const output = callOutput(call)
  const before = isObject(stored.metadata?.acp) ? stored.metadata.acp : {}
  const acp = {
    ...differing('title', title, before.title),
    ...differing('kind', kind, before.kind),
    ...differing('locations', locations, before.locations),
    ...differing('input', input, stored.input),
    ...(isTold(content, output) ? {} : { content }),
  }
  const isError = status === 'failed' ? { isError: true } : {}
  return { type: 'tool_result', callId, name: stored.name, output, ...isError, ...withAcp(acp) }
}

/** The output of a tool: as the agent sends it, else the text of its content. */
export function callOutput({ output, content = [] }: CallChange): Json {
  return output ?? textsOf(content).join('\n')
}

/** A name that every provider accepts: the agent's own, else the kind of tool, else the first word of the
 *  title. */
export function toolName({ name, kind, title }: CallChange): string {
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
