import { isDeepStrictEqual } from 'node:util'
import type { CallToolResult } from '@modelcontextprotocol/client'
import type { Json } from '../core/json.ts'
import { jsonOf, type ToolOutcome } from './tool.ts'

/** What a tool of an MCP server brought. Text becomes text and structured content its JSON; whatever is more than
 *  that is kept as it came, as `{ content, structuredContent? }`: pictures, sounds, resources, or words beside
 *  the structured content that say something else. */
export function outcomeOf(result: CallToolResult): ToolOutcome {
  const output = outputOf(result)
  return result.isError === true ? { output, isError: true } : { output }
}

function outputOf({ content, structuredContent }: CallToolResult): Json {
  const texts = content.flatMap(part => (part.type === 'text' ? [part.text] : []))
  const onlyText = texts.length === content.length
  if (structuredContent === undefined) return onlyText ? texts.join('\n') : jsonOf({ content })
  const repeated =
    onlyText && (texts.join('').trim() === '' || isDeepStrictEqual(parsed(texts), structuredContent))
  return jsonOf(repeated ? structuredContent : { content, structuredContent })
}

/** The specification asks servers to give structured content once more as text, for older clients. */
function parsed(texts: readonly string[]): unknown {
  try {
    return JSON.parse(texts.join(''))
  } catch {
    return undefined // Words, not JSON: they are not the structured content again.
  }
}
