import type { Json, JsonObject } from '../../core/json.ts'
import type { Line } from '../wire/line.ts'
import type { Entry } from './entry.ts'

/** Permissions that an agent has asked for, until the client answers: both are kept. */
export interface Permissions {
  /** A request as the client gets it. */
  asked(line: Line, entry: Entry): void
  /** What was asked and answered, if this line is the answer. */
  answered(line: Line): { readonly entry: Entry; readonly data: JsonObject } | null
}

export function createPermissions(): Permissions {
  const open = new Map<string, { readonly entry: Entry; readonly params: JsonObject }>()
  return {
    asked(line, entry) {
      open.set(JSON.stringify(line.message!.id), { entry, params: line.message!.params ?? {} })
      entry.seat.asked()
    },
    answered(line) {
      const key = JSON.stringify(line.message?.id)
      const found = open.get(key)
      if (!found) return null
      open.delete(key)
      const { toolCall = null, options = null } = found.params
      const outcome = (line.message!.result ?? line.message!.error ?? null) as Json
      return { entry: found.entry, data: { toolCall, options, answer: outcome } }
    },
  }
}
