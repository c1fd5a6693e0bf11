import type { ToolResultBlock } from '../core/block.ts'
import type { Message } from '../core/message.ts'
import type { Call, Shown } from './pairs.ts'

/** Why a call has no result. */
export type MissingReason = 'interrupted' | 'failed' | 'imported' | 'erased'

const texts: Readonly<Record<MissingReason, string>> = {
  interrupted: '[no result: interrupted, outcome unknown]',
  failed: '[no result: the turn failed, outcome unknown]',
  imported: '[no result: imported without it]',
  erased: '[no result: erased]',
}

/** The result that a call without one gets in the view, labelled with the reason. It is never stored. */
export function missingResult(call: Call, reason: MissingReason): ToolResultBlock {
  return {
    type: 'tool_result',
    callId: call.id,
    name: call.block.name,
    output: texts[reason],
    isError: true,
    metadata: { skein: { synthetic: reason } },
  }
}

/** Says why calls have no result: by what is said of the message that makes the call, otherwise by what happened
 *  later in its exchange. A call of which nothing is said was cut off. */
export function missingReasons(path: readonly Shown[]): (call: Call) => MissingReason {
  const byExchange = new Map<number, MissingReason>()
  return call => {
    const own = reasonIn(path[call.at]!.message)
    if (own) return own
    const { exchange } = path[call.at]!
    const known = byExchange.get(exchange)
    if (known) return known
    let reason: MissingReason = 'interrupted'
    for (let i = call.at + 1; i < path.length && path[i]!.exchange === exchange; i++) {
      const { message } = path[i]!
      const found = message.erased && message.role === 'tool_result' ? 'erased' : reasonIn(message)
      if (found && found !== 'imported') reason = found
      if (found === 'erased') break
    }
    byExchange.set(exchange, reason)
    return reason
  }
}

function reasonIn({ meta }: Message): MissingReason | null {
  if (!meta) return null
  if (meta.failed) return 'failed'
  if (meta.interrupted) return 'interrupted'
  return meta.imported ? 'imported' : null
}
