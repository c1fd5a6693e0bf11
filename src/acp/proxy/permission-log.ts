import type { Json, JsonObject } from '../../core/json.ts'
import { callInPermission } from '../transcript/hear.ts'
import type { WireLine } from '../wire/wire-line.ts'
import type { ProxySession } from './proxy-sessions.ts'

/** Open permission requests of the agent, so that request and answer are stored together. */
export interface PermissionLog {
  /** A permission request, as the client receives it. */
  asked(line: WireLine, session: ProxySession): void
  /** The request and its answer, if this line is one. */
  answered(line: WireLine): { readonly session: ProxySession; readonly data: JsonObject } | null
}

export function createPermissionLog(): PermissionLog {
  const open = new Map<string, { readonly session: ProxySession; readonly params: JsonObject }>()
  return {
    asked(line, session) {
      const params = line.message!.params ?? {}
      open.set(JSON.stringify(line.message!.id), { session, params })
      session.seat.asked(callInPermission(params))
    },
    answered(line) {
      const key = JSON.stringify(line.message?.id)
      const found = open.get(key)
      if (!found) return null
      open.delete(key)
      const { toolCall = null, options = null } = found.params
      const outcome = (line.message!.result ?? line.message!.error ?? null) as Json
      return { session: found.session, data: { toolCall, options, answer: outcome } }
    },
  }
}
