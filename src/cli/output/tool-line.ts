import type { ToolCallBlock, ToolResultBlock } from '../../core/block.ts'
import { collapseSpaces } from '../../core/collapse-spaces.ts'
import { mainArgument, outputText } from '../../core/gist.ts'
import type { Message } from '../../core/message.ts'
import { cut, widthOf } from './cut.ts'
import { plural } from './number.ts'
import type { Output } from './output.ts'
import { formatDuration } from './time.ts'

/** A tool call and its result. */
export interface ShownCall {
  readonly call: Pick<ToolCallBlock, 'name' | 'input'>
  /** Null without a result. */
  readonly result: Pick<ToolResultBlock, 'output' | 'isError'> | null
  /** Null if unknown. */
  readonly tookMs: number | null
}

/** A tool call in one line: `  read  gateway/tls.ts · 212 lines · 4 ms`, `✗ bash  npm test · exit 1 · 3.2 s`.
 *  The argument is cut first. Looks the same during a run and in `skein show`. */
export function toolLine(
  { call, result, tookMs }: ShownCall,
  { style, width }: Pick<Output, 'style' | 'width'>,
): string {
  const { failed, dot, dots } = style.symbols
  const isError = result?.isError === true
  const sign = isError ? `${failed}${' '.repeat(Math.max(1, 2 - widthOf(failed)))}` : '  '
  const name = style.safe(collapseSpaces(call.name))
  const outcome = cut(style.safe(outcomeText(result)), Math.max(12, Math.floor(width / 2)), dots)
  const facts = [outcome, tookMs === null ? '' : formatDuration(tookMs)].filter(fact => fact !== '')
  const tail = facts.map(fact => ` ${dot} ${fact}`).join('')
  const room = width - widthOf(`${sign}${name}  ${tail}`)
  const argument = cut(style.safe(mainArgument(call.input)), Math.max(12, room), dots)
  const painted = isError ? style.failed(sign) : sign
  return `${painted}${style.branch(name)}${argument === '' ? '' : `  ${argument}`}${style.faint(tail)}`
}

/** A single line of output is shown as it is; of several lines, the count, or the first line if the call
 *  failed: it says what happened, and the others where. */
export function outcomeText(result: ShownCall['result']): string {
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
