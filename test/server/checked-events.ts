import type { ZodType } from 'zod'
import { followStreamSchema, turnEventSchema } from '../../src/api/schema/index.ts'

/** The schemas of the streams, by the end of their path. */
const schemas: readonly (readonly [path: RegExp, schema: ZodType, hasIds: boolean])[] = [
  [/\/follow$/, followStreamSchema, true],
  [/\/turns$/, turnEventSchema, false],
]

/** A response whose events are compared with the schemas of the OpenAPI document as they are read. Reading
 *  fails at the first event that is not documented. Other responses are returned as they are. */
export function checkedEvents(url: string, response: Response): Response {
  if (!response.body || !/^text\/event-stream/.test(response.headers.get('content-type') ?? ''))
    return response
  const { pathname } = new URL(url)
  // The events of MCP are those of its protocol.
  if (pathname === '/mcp') return response
  const known = schemas.find(([path]) => path.test(pathname))
  if (!known) throw new Error(`the events of ${url} have no schema`)
  const [, schema, hasIds] = known
  const decoder = new TextDecoder()
  let text = ''
  const checked = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        text += decoder.decode(chunk, { stream: true })
        const events = text.split('\n\n')
        text = events.pop()!
        for (const event of events) checkEvent(event, schema, hasIds)
        controller.enqueue(chunk)
      },
    }),
  )
  const { status, headers } = response
  return new Response(checked, { status, headers })
}

/** Throws if an event is not documented. */
export function checkEvent(text: string, schema: ZodType, hasIds: boolean): void {
  const fields = Object.fromEntries(
    text.split('\n').map(line => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
  )
  if (fields.data === undefined) return
  const data: { type?: unknown } = JSON.parse(fields.data)
  const { error } = schema.safeParse(data)
  if (error) throw new Error(`an event is not in the schema: ${text}\n${error.message}`)
  if (fields.event !== data.type) throw new Error(`the name of an event is not its type: ${text}`)
  if (hasIds && (fields.id === undefined) !== (data.type === 'closing'))
    throw new Error(`all events but closing have an id: ${text}`)
}
