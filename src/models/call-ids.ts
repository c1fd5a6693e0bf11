import { createHash } from 'node:crypto'

/** Ids of calls as every provider takes them: at most 40 letters, digits, `_` and `-`, and none twice in a request. */
export interface CallIds {
  /** The id to send for a call: a new one if the same id was called before. */
  ofCall(id: string): string
  /** The id to send for a result: that of the newest call with this id. */
  ofResult(id: string): string
}

/** Conversations that were imported, or went from one provider to another, bring ids that the next one refuses. */
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
