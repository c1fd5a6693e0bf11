import { errorText } from '../../core/error-text.ts'
import type { DispatchEvent } from '../../dispatch/dispatch-event.ts'
import { cut } from '../output/cut.ts'
import { plural } from '../output/number.ts'
import type { Output } from '../output/output.ts'
import { formatDuration } from '../output/time.ts'

/** One line about an event of a worker, or null if it is not shown. */
export function eventLine(event: DispatchEvent, output: Output): string | null {
  const text = textOf(event)
  if (text === null) return null
  const line = output.style.safe(text).replace(/\s+/g, ' ')
  return output.isTerminal ? cut(line, output.width, output.style.symbols.dots) : line
}

function textOf(event: DispatchEvent): string | null {
  switch (event.type) {
    case 'started': {
      const { task, dispatch } = event
      return `${task.id} #${dispatch.n} started by ${dispatch.worker}: ${dispatch.words ?? task.description}`
    }
    case 'ended': {
      const { dispatch, result, ranMs } = event
      const said = result.error ?? result.response
      return `${dispatch.task} #${dispatch.n} ${dispatch.status} in ${formatDuration(ranMs)}: ${said}`
    }
    case 'released':
      return `${event.task.id} #${event.n} given back`
    case 'lost':
      return `${event.task.id} #${event.n} was taken by another worker`
    case 'reclaimed': {
      const { task, n, status } = event.dispatch
      return `${task} #${n} ${status} again: its worker died`
    }
    case 'swept': {
      const { trashed } = event.receipt
      return trashed.length === 0
        ? null
        : `${plural(trashed.length, 'expired conversation')} moved to the trash`
    }
    case 'trouble':
      return `could not ${event.what}: ${errorText(event.error)}`
    case 'agent':
      return event.event.type === 'tool_started' ? `${event.task.id} runs ${event.event.name}` : null
    default:
      return event satisfies never
  }
}
