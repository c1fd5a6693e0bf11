import type { Line } from '../wire/line.ts'
import { spansOf, spliced } from '../wire/splice.ts'

/** The line with another session id in its parameters; the very same bytes if it has that id already. */
export function withSessionId({ bytes, message }: Line, sessionId: string): Buffer {
  if (message?.params?.sessionId === sessionId) return bytes
  const by = JSON.stringify(sessionId)
  return spliced(
    bytes,
    spansOf(bytes, ['params', 'sessionId']).map(span => ({ span, by })),
  )
}
