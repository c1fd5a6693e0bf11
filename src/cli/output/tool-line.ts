import type { ToolCallBlock, ToolResultBlock } from '../../core/block.ts'
import { collapseSpaces } from '../../core/collapse-spaces.ts'
import { mainArgument } from '../../core/gist.ts'
import { outcomeText } from '../../core/tool-outcome.ts'
import { cut, widthOf } from './cut.ts'
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
