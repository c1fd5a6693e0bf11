import type { Message } from '../core/message.ts'
import type { ContextMessage } from '../core/model.ts'
import { viewOf } from './view.ts'

const weightless = { tokens: () => 0, characters: () => 0 }

/** Shows a path so that no provider refuses it for its shape. Nothing is stored.
 *  - Each answer with tool calls is followed at once by one message with their results, in the order of the
 *    calls, from wherever they were stored. A call without a result gets one that says why it has none:
 *    interrupted, failed, imported, erased. A result without a call is told as text.
 *  - Ids of calls are unique; one that recurs is replaced in call and result.
 *  - Thinking with metadata (a signature) stays as it is, in its place; without, it stays only beside the calls
 *    of the exchange in progress.
 *  - What the system said before the first question stands at the beginning, later words of it in their place.
 *  - Erased messages show `[erased]`; messages with nothing to show are not there. */
export function repair(path: readonly Message[]): readonly ContextMessage[] {
  return viewOf(path, weightless).map(item => item.message)
}
