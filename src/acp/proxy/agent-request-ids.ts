import { findSpans } from '../wire/json-spans.ts'
import { applyEdits } from '../wire/splice.ts'
import type { WireLine } from '../wire/wire-line.ts'

/** The ids of an agent's requests to the client. Every process counts from the beginning, so what takes the
 *  place of a dead one would use ids again that the client still works on, and get replies that are not its
 *  own. */
export interface AgentRequestIds {
  /** An agent's line, as the client gets it. */
  outgoing(line: WireLine, generation: number): Buffer
  /** A client's line, as the agent that lives now gets it; null if it replies one that is dead. */
  incoming(line: WireLine, generation: number): Buffer | null
}

const ours = /^skein-(\d+)-(.+)$/s

/** The first agent's ids pass as they are; those of the later ones say whose they are. */
export function createAgentRequestIds(): AgentRequestIds {
  return {
    outgoing(line, generation) {
      const place = generation === 0 ? null : placeOfId(line)
      return place === null ? line.bytes : withId(line.bytes, place, raw => ownId(generation, raw))
    },
    incoming(line, generation) {
      const { bytes, message } = line
      if (generation === 0 || message === null || message.method !== undefined) return bytes
      const { id } = message
      // A client that could not read a request does not know whose it was.
      if (id === undefined || id === null) return bytes
      const [, whose, raw] = (typeof id === 'string' ? ours.exec(id) : null) ?? []
      if (raw === undefined || whose !== String(generation) || !isValue(raw)) return null
      return withId(bytes, ['id'], () => raw)
    },
  }
}

/** Where a line names a request of its sender: where it is one, and where it calls one off. */
function placeOfId({ message }: WireLine): readonly string[] | null {
  if (message?.method === undefined) return null
  if (message.method === '$/cancel_request') return ['params', 'requestId']
  return message.id === undefined ? null : ['id']
}

/** The id is taken as it is written: a large number would not survive being read. */
function withId(bytes: Buffer, path: readonly string[], change: (raw: string) => string): Buffer {
  const spans = findSpans(bytes, path)
  return applyEdits(
    bytes,
    spans.map(span => ({ span, by: change(bytes.toString('utf8', span.from, span.to)) })),
  )
}

function ownId(generation: number, raw: string): string {
  return JSON.stringify(`skein-${generation}-${raw}`)
}

/** Whether it is one JSON value and nothing else: clients may answer with any id. */
function isValue(raw: string): boolean {
  const text = Buffer.from(raw)
  const [value] = findSpans(text, [])
  return value?.from === 0 && value.to === text.length
}
