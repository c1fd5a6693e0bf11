import type {
  JSONValue,
  LanguageModelV4FilePart,
  LanguageModelV4TextPart,
  LanguageModelV4ToolResultOutput,
} from '@ai-sdk/provider'
import type { MediaBlock, ToolResultBlock } from '../core/block.ts'
import { outputParts } from '../core/tool-output.ts'
import type { Dialect } from './dialect.ts'
import { mediaPart } from './media.ts'

/** The output of a tool in a form that the provider accepts, and the media that it does not accept in a
 *  result, which follow in a message of the user. */
export interface ShownOutput {
  readonly output: LanguageModelV4ToolResultOutput
  readonly beside: readonly (LanguageModelV4FilePart | LanguageModelV4TextPart)[]
}

/** A list of texts and media, as blocks of ours or of MCP (`mimeType`), stays a list; other outputs are text
 *  or JSON. */
export function toolOutput(block: ToolResultBlock, dialect: Dialect): ShownOutput {
  const failed = block.isError === true
  const parts = outputParts(block)
  if (parts !== null) return shownParts(parts, failed, dialect)
  if (typeof block.output === 'string') return alone(text(block.output, failed, dialect))
  if (failed && !dialect.marksErrors) return alone(text(JSON.stringify(block.output), failed, dialect))
  return alone({ type: failed ? 'error-json' : 'json', value: block.output as JSONValue })
}

function shownParts(parts: readonly (string | MediaBlock)[], failed: boolean, dialect: Dialect): ShownOutput {
  const shown = parts.map(part => (typeof part === 'string' ? textPart(part) : mediaPart(part, dialect)))
  const kept = shown.filter(part => part.type !== 'text' || part.text.trim() !== '')
  if (dialect.mediaInResults && kept.some(part => part.type === 'file'))
    return alone({ type: 'content', value: kept })
  const files = kept.filter(part => part.type === 'file')
  const words = kept.map(part => (part.type === 'text' ? part.text : `[${part.mediaType}, shown below]`))
  const output = text(words.join('\n'), failed, dialect)
  return { output, beside: files.length === 0 ? [] : [textPart('[From the tool:]'), ...files] }
}

function alone(output: LanguageModelV4ToolResultOutput): ShownOutput {
  return { output, beside: [] }
}

function text(value: string, failed: boolean, dialect: Dialect): LanguageModelV4ToolResultOutput {
  if (!failed) return { type: 'text', value }
  const told = dialect.marksErrors || /error|fail/i.test(value.slice(0, 200)) ? value : `Error: ${value}`
  return { type: 'error-text', value: told }
}

function textPart(value: string) {
  return { type: 'text' as const, text: value }
}
