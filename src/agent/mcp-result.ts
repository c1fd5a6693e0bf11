import { isDeepStrictEqual } from 'node:util'
import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/client'
import type { Json, JsonObject } from '../core/json.ts'
import { jsonOf, type ToolOutcome } from './tool.ts'

/** What a tool of an MCP server brought. Text alone becomes a string, structured content its JSON (with `text` beside
 *  it where the words say something else), and whatever has pictures, sounds or files a list of texts and media,
 *  which the models' mapping shows as such. */
export function outcomeOf(result: CallToolResult): ToolOutcome {
  const output = outputOf(result)
  return result.isError === true ? { output, isError: true } : { output }
}

function outputOf({ content, structuredContent: structured }: CallToolResult): Json {
  const parts = content.map(partOf)
  const texts = parts.flatMap(part => (part.type === 'text' ? [part.text as string] : []))
  const text = texts.join('\n')
  const isRepeated = structured !== undefined && isDeepStrictEqual(parsed(text), structured)
  if (texts.length < parts.length) {
    const more =
      structured === undefined || isRepeated ? [] : [{ type: 'text', text: JSON.stringify(structured) }]
    return [...parts, ...more]
  }
  if (structured === undefined) return text
  return jsonOf(text.trim() === '' || isRepeated ? structured : { text, structuredContent: structured })
}

function partOf(block: ContentBlock): JsonObject {
  switch (block.type) {
    case 'text':
    case 'image':
    case 'audio':
      return jsonOf(block) as JsonObject
    case 'resource_link':
      return { type: 'text', text: `${block.title ?? block.name}: ${block.uri}` }
    case 'resource': {
      const { uri, mimeType } = block.resource
      if ('text' in block.resource) return { type: 'text', text: block.resource.text, uri }
      return {
        type: 'file',
        mime: mimeType ?? 'application/octet-stream',
        data: block.resource.blob,
        name: uri,
      }
    }
    default:
      return { type: 'text', text: JSON.stringify(block satisfies never) }
  }
}

/** The specification asks servers to give structured content once more as text, for older clients. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // Words, not JSON: they are not the structured content again.
  }
}
