import { findSpans } from '../wire/json-spans.ts'
import { applyEdits } from '../wire/splice.ts'
import type { WireLine } from '../wire/wire-line.ts'

/** The ids of the agent's requests to the client. Every process counts from the start. So a replacement would
 *  reuse ids that the client still works on, and receive answers that are not its own. */
export interface AgentRequestIds {
  /** A line of the agent, as the client receives it. */
  outgoing(line: WireLine, generation: number): Buffer
  /** A line of the client, as the current process receives it; null if it answers an earlier process. */
  incoming(line: WireLine, generation: number): Buffer | null
}

const ours = /^skein-(\d+)-(.+)$/s

/** The ids of the first process pass unchanged. Those of later ones contain the generation. */
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
      // A client that could not read a request answers without an id.
      if (id === undefined || id === null) return bytes
      const [, whose, raw] = (typeof id === 'string' ? ours.exec(id) : null) ?? []
      if (raw === undefined || whose !== String(generation) || !isValue(raw)) return null
      return withId(bytes, ['id'], () => raw)
    },
  }
}

/** The path of a request id in a line: in a request, and in a cancellation. */
function placeOfId({ message }: WireLine): readonly string[] | null {
  if (message?.method === undefined) return null
  if (message.method === '$/cancel_request') return ['params', 'requestId']
  return message.id === undefined ? null : ['id']
}

/** Uses the id as it is written: a large number would not survive parsing. */
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

/** Whether the text is exactly one JSON value: clients may answer with any id. */
function isValue(raw: string): boolean {
  const text = Buffer.from(raw)
  const [value] = findSpans(text, [])
  return value?.from === 0 && value.to === text.length
}
