import { createHash } from 'node:crypto'

/** Ids of calls that every provider accepts: at most 40 letters, digits, `_` and `-`, and unique in a
 *  request. */
export interface CallIds {
  /** The id to send for a call: a new one if an earlier call has the same id. */
  ofCall(id: string): string
  /** The id to send for a result: the one of the newest call with this id. */
  ofResult(id: string): string
}

/** Imported conversations, and those of other providers, have ids that a provider may refuse. */
export function callIds(): CallIds {
  const sent = new Map<string, string>()
  const used = new Set<string>()
  return {
    ofCall(id) {
      let safe = accepted(id)
      for (let n = 2; used.has(safe); n++) safe = accepted(`${id}#${n}`)
      used.add(safe)
      sent.set(id, safe)
      return safe
    },
    ofResult: id => sent.get(id) ?? accepted(id),
  }
}

function accepted(id: string): string {
  if (/^[A-Za-z0-9_-]{1,40}$/.test(id)) return id
  return `call_${createHash('sha256').update(id).digest('hex').slice(0, 24)}`
}
