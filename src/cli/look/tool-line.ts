import type { ToolCallBlock, ToolResultBlock } from '../../core/block.ts'
import { cut, folded, widthOf } from '../terminal/cut.ts'
import { plural } from '../terminal/number.ts'
import type { Paper } from '../terminal/paper.ts'
import { duration } from '../terminal/time.ts'
import { argumentOf, outputText } from './gist.ts'

/** A call of a tool, and what came of it. */
export interface ShownCall {
  readonly call: Pick<ToolCallBlock, 'name' | 'input'>
  /** Null if there is none. */
  readonly result: Pick<ToolResultBlock, 'output' | 'isError'> | null
  /** Null if nobody knows. */
  readonly tookMs: number | null
}

/** A call on one line: `  read  gateway/tls.ts · 212 lines · 4 ms`, `✗ bash  npm test · exit 1 · 3.2 s`. What it was
 *  called with gives way first. The same while it runs and when it is looked at later. */
export function toolLine(
  { call, result, tookMs }: ShownCall,
  { style, width }: Pick<Paper, 'style' | 'width'>,
): string {
  const { failed, dot, dots } = style.symbols
  const isError = result?.isError === true
  const sign = isError ? `${failed}${' '.repeat(Math.max(1, 2 - widthOf(failed)))}` : '  '
  const name = style.safe(folded(call.name))
  const outcome = cut(style.safe(outcomeOf(result)), Math.max(12, Math.floor(width / 2)), dots)
  const facts = [outcome, tookMs === null ? '' : duration(tookMs)].filter(fact => fact !== '')
  const tail = facts.map(fact => ` ${dot} ${fact}`).join('')
  const room = width - widthOf(`${sign}${name}  ${tail}`)
  const argument = cut(style.safe(argumentOf(call.input)), Math.max(12, room), dots)
  const painted = isError ? style.failed(sign) : sign
  return `${painted}${style.branch(name)}${argument === '' ? '' : `  ${argument}`}${style.faint(tail)}`
}

/** One line of output is shown, of more there is a count; of a failure the end, where it says why. */
export function outcomeOf(result: ShownCall['result']): string {
  if (result === null) return 'no result'
  const text = outputText(result.output).trim()
  const lines = text === '' ? 0 : text.split('\n').length
  if (lines > 1 && result.isError === true) return folded(text.slice(text.lastIndexOf('\n')))
  return lines > 1 ? plural(lines, 'line') : folded(text)
}
