import type { JSONValue, LanguageModelV4ToolResultOutput } from '@ai-sdk/provider'
import { isMedia, type MediaBlock, type ToolResultBlock } from '../core/block.ts'
import type { Json } from '../core/json.ts'
import type { Dialect } from './dialect.ts'
import { mediaPart } from './media.ts'
import { isObject } from './metadata.ts'

/** What a tool returned, as the provider takes it. A list of texts and media, in our words or in MCP's (`mimeType`), is
 *  shown as such; everything else is a text or JSON. */
export function toolOutput(block: ToolResultBlock, dialect: Dialect): LanguageModelV4ToolResultOutput {
  const failed = block.isError === true
  const parts = partsOf(block.output)
  if (parts !== null) {
    const shown = parts.map(part => (typeof part === 'string' ? textPart(part) : mediaPart(part, dialect)))
    const kept = shown.filter(part => part.type !== 'text' || part.text.trim() !== '')
    if (dialect.mediaInResults && kept.some(part => part.type === 'file'))
      return { type: 'content', value: kept }
    const named = parts.map(part => (typeof part === 'string' ? part : words(part, dialect)))
    return text(named.join('\n'), failed, dialect)
  }
  if (typeof block.output === 'string') return text(block.output, failed, dialect)
  if (failed && !dialect.marksErrors) return text(JSON.stringify(block.output), failed, dialect)
  return { type: failed ? 'error-json' : 'json', value: block.output as JSONValue }
}

function text(value: string, failed: boolean, dialect: Dialect): LanguageModelV4ToolResultOutput {
  if (!failed) return { type: 'text', value }
  const told = dialect.marksErrors || /error|fail/i.test(value.slice(0, 200)) ? value : `Error: ${value}`
  return { type: 'error-text', value: told }
}

function textPart(value: string) {
  return { type: 'text' as const, text: value }
}

function words(block: MediaBlock, dialect: Dialect): string {
  const part = mediaPart(block, { ...dialect, takes: () => false })
  return part.type === 'text' ? part.text : ''
}

/** Texts and media of a list that holds nothing else, at least one of them media; null for other outputs. */
function partsOf(output: Json): readonly (string | MediaBlock)[] | null {
  if (!Array.isArray(output)) return null
  const parts = output.map(partOf)
  if (!parts.some(part => part !== null && typeof part !== 'string')) return null
  return parts.every(part => part !== null) ? parts : null
}

function partOf(value: Json): string | MediaBlock | null {
  if (!isObject(value)) return null
  if (value.type === 'text' && typeof value.text === 'string') return value.text
  const mime = value.mime ?? value.mimeType
  if (!isMedia({ type: String(value.type) }) || typeof mime !== 'string') return null
  return { ...value, mime } as unknown as MediaBlock
}
