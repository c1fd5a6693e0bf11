import type { LanguageModelV4ToolResultOutput } from '@ai-sdk/provider'
import type { ToolResultBlock } from '../core/block.ts'
import type { Json } from '../core/json.ts'
import { fileBlock } from './file-block.ts'
import { metadataOf } from './metadata.ts'
import { plainJson } from './plain-json.ts'

/** A tool result as a block. `metadata.output` keeps the form of the output, if `output` and `isError` do not
 *  imply it. */
export function toolResultBlock(
  callId: string,
  name: string,
  output: LanguageModelV4ToolResultOutput,
  facts: Readonly<Record<string, unknown>> = {},
): ToolResultBlock {
  const isError =
    output.type === 'error-text' || output.type === 'error-json' || output.type === 'execution-denied'
  const value = outputValue(output)
  const metadata = metadataOf({
    ...facts,
    output: output.type === outputForm(value, isError) ? undefined : output.type,
    outputProvider: 'providerOptions' in output ? output.providerOptions : undefined,
  })
  return { type: 'tool_result', callId, name, output: value, ...(isError && { isError }), ...metadata }
}

/** The output of a refused call without a reason. */
export const deniedText = 'The tool was not allowed to run.'

function outputValue(output: LanguageModelV4ToolResultOutput): Json {
  if (output.type === 'execution-denied') return output.reason ?? deniedText
  return output.type === 'content' ? output.value.map(partBlock) : plainJson(output.value)
}

type ResultPart = Extract<LanguageModelV4ToolResultOutput, { type: 'content' }>['value'][number]

/** A part of a result with several parts, as a block. */
function partBlock(part: ResultPart): Json {
  const metadata = metadataOf({ provider: part.providerOptions })
  if (part.type === 'text') return { type: 'text', text: part.text, ...metadata }
  if (part.type === 'file') return plainJson(fileBlock(part, metadata))
  return plainJson(part)
}

/** The form that an output has without `metadata.output`. */
export function outputForm(value: Json, isError: boolean): LanguageModelV4ToolResultOutput['type'] {
  if (typeof value === 'string') return isError ? 'error-text' : 'text'
  return isError ? 'error-json' : 'json'
}
