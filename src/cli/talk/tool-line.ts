import type { Json } from '../../core/json.ts'
import { cut, folded, widthOf } from '../terminal/cut.ts'
import { plural } from '../terminal/number.ts'
import type { Paper } from '../terminal/paper.ts'
import { duration } from '../terminal/time.ts'

/** A tool call that has ended. */
export interface EndedCall {
  readonly name: string
  readonly input: Json
  readonly output: Json
  readonly isError: boolean
  readonly tookMs: number
}

/** `  read  gateway/tls.ts · 212 lines · 4 ms`, `✗ bash  npm test · exit 1 · 3.2 s`: one line for each call. */
export function toolLine(call: EndedCall, { style, width }: Paper): string {
  const { dot, dots, failed } = style.symbols
  const facts = [outcomeOf(call), duration(call.tookMs)].filter(fact => fact !== '')
  const tail = facts.map(fact => ` ${dot} ${style.safe(fact)}`).join('')
  const name = style.safe(call.name)
  const mark = call.isError ? `${failed} ` : '  '
  const room = width - widthOf(`${mark}${name}  ${tail}`)
  const target = cut(folded(style.safe(targetOf(call.input))), Math.max(12, room), dots)
  const head = target === '' ? name : `${name}  ${target}`
  return `${call.isError ? style.failed(mark) : mark}${head}${tail}`
}

/** What the call is about: its first text, such as a path or a command. */
function targetOf(input: Json): string {
  if (typeof input === 'string' || typeof input === 'number') return String(input)
  if (input === null || typeof input !== 'object') return ''
  const text = Object.values(input).find(value => typeof value === 'string' || typeof value === 'number')
  return text === undefined ? '' : String(text)
}

function outcomeOf({ output, isError }: EndedCall): string {
  const text = typeof output === 'string' ? output.trim() : ''
  if (isError) return cut(folded(text.slice(text.lastIndexOf('\n') + 1) || JSON.stringify(output)), 60)
  if (typeof output !== 'string') return ''
  return plural(text === '' ? 0 : text.split('\n').length, 'line')
}
