import type { LanguageModelV4ToolResultOutput } from '@ai-sdk/provider'
import type { ToolResultBlock } from '../core/block.ts'
import type { Json } from '../core/json.ts'
import { fileBlock } from '../models/file-block.ts'
import { metadataOf } from '../models/metadata.ts'
import { plainJson } from '../models/plain-json.ts'

/** A result. A form that `output` and `isError` do not tell stands in `metadata.output`. */
export function resultBlock(
  callId: string,
  name: string,
  output: LanguageModelV4ToolResultOutput,
  facts: Readonly<Record<string, unknown>> = {},
): ToolResultBlock {
  const isError =
    output.type === 'error-text' || output.type === 'error-json' || output.type === 'execution-denied'
  const value = saidIn(output)
  const metadata = metadataOf({
    ...facts,
    output: output.type === formOf(value, isError) ? undefined : output.type,
    outputProvider: 'providerOptions' in output ? output.providerOptions : undefined,
  })
  return { type: 'tool_result', callId, name, output: value, ...(isError && { isError }), ...metadata }
}

/** What stands for a refusal for which no reason was given. */
export const denied = 'The tool was not allowed to run.'

function saidIn(output: LanguageModelV4ToolResultOutput): Json {
  if (output.type === 'execution-denied') return output.reason ?? denied
  return output.type === 'content' ? output.value.map(pieceOf) : plainJson(output.value)
}

type Piece = Extract<LanguageModelV4ToolResultOutput, { type: 'content' }>['value'][number]

/** A piece of a result in several, as a block, so that whoever reads the result knows it. */
function pieceOf(piece: Piece): Json {
  const metadata = metadataOf({ provider: piece.providerOptions })
  if (piece.type === 'text') return { type: 'text', text: piece.text, ...metadata }
  if (piece.type === 'file') return plainJson(fileBlock(piece, metadata))
  return plainJson(piece)
}

/** The form that a result has if nothing else is said. */
export function formOf(value: Json, isError: boolean): LanguageModelV4ToolResultOutput['type'] {
  if (typeof value === 'string') return isError ? 'error-text' : 'text'
  return isError ? 'error-json' : 'json'
}
