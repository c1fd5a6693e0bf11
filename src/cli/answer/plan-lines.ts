import type { Json } from '../../core/json.ts'
import { cut } from '../output/cut.ts'
import type { Output } from '../output/output.ts'
import { wrap } from '../output/wrap.ts'

/** The margin of lines about an answer. */
const margin = 2

/** The steps of an agent's plan that are new or have changed their status, each as a line without its margin.
 *  Agents send the whole plan with each change. On a terminal, the rows of a new step are below each other,
 *  and a step that was shown before takes one row. */
export function planLines(
  entries: Json,
  shown: Set<string>,
  { isTerminal, width, style }: Pick<Output, 'isTerminal' | 'width' | 'style'>,
): readonly string[] {
  const steps = Array.isArray(entries) ? entries.flatMap(stepOf) : []
  return steps.flatMap(({ mark, text }) => {
    const line = `${mark}: ${text}`
    if (shown.has(line)) return []
    const wasShown = marks.some(one => shown.has(`${one}: ${text}`))
    shown.add(line)
    if (!isTerminal) return [line]
    const label = `${mark}: `
    const room = Math.max(1, width - margin - label.length)
    const safe = style.safe(text)
    if (wasShown) return [label + cut(safe, room, style.symbols.dots)]
    return wrap(safe, room).map((row, i) => (i === 0 ? label : ' '.repeat(label.length)) + row)
  })
}

const marks = ['done', 'now', 'plan'] as const

interface PlanStep {
  readonly mark: (typeof marks)[number]
  readonly text: string
}

function stepOf(entry: Json): readonly PlanStep[] {
  const { content, status } = (entry ?? {}) as { readonly content?: Json; readonly status?: Json }
  if (typeof content !== 'string') return []
  const mark = status === 'completed' ? 'done' : status === 'in_progress' ? 'now' : 'plan'
  return [{ mark, text: content.trim().split('\n', 1)[0]! }]
}
