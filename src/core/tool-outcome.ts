import { plural } from './amount.ts'
import type { ToolResultBlock } from './block.ts'
import { collapseSpaces } from './collapse-spaces.ts'
import { outputText } from './gist.ts'
import type { Message } from './message.ts'

/** A single line of output is shown as it is; of several lines, the count, or the first line if the call
 *  failed: it says what happened, and the others where. */
export function outcomeText(result: Pick<ToolResultBlock, 'output' | 'isError'> | null): string {
  if (result === null) return 'no result'
  const text = outputText(result.output).trim()
  const lines = text === '' ? 0 : text.split('\n').length
  if (lines > 1 && result.isError === true) return collapseSpaces(text.slice(0, text.indexOf('\n')))
  return lines > 1 ? plural(lines, 'line') : collapseSpaces(text)
}

/** The results by call id, for calls that precede them on the path. */
export function toolResults(
  path: readonly Message[],
): ReadonlyMap<string, { readonly block: ToolResultBlock; readonly message: Message }> {
  const called = new Set<string>()
  const results = new Map<string, { readonly block: ToolResultBlock; readonly message: Message }>()
  for (const message of path) {
    for (const block of message.content) {
      if (block.type === 'tool_call') called.add(String(block.callId))
      if (block.type !== 'tool_result') continue
      const result = block as ToolResultBlock
      if (called.has(result.callId) && !results.has(result.callId))
        results.set(result.callId, { block: result, message })
    }
  }
  return results
}
