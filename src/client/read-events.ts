/** An event of a stream, as it was sent. */
export interface StreamEvent {
  /** The name of the event. `message` if it has none. */
  readonly event: string
  /** The id of the event or of one before it. Empty if there was none. */
  readonly id: string
  /** The data, usually JSON. */
  readonly data: string
}

/** Reads server-sent events from the body of a response. Comments are skipped. Ends with the body; an event
 *  that was cut off is not returned. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamEvent> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let text = ''
  let id = ''
  let event = ''
  let data: string[] = []
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      text += decoder.decode(value, { stream: true })
      for (let end = lineEnd(text); end !== null; end = lineEnd(text)) {
        const line = text.slice(0, end.at)
        text = text.slice(end.next)
        if (line === '') {
          if (data.length > 0) yield { event: event === '' ? 'message' : event, id, data: data.join('\n') }
          event = ''
          data = []
          continue
        }
        const [, field, content] = /^([^:]*):? ?(.*)$/s.exec(line) ?? []
        if (field === 'event') event = content ?? ''
        else if (field === 'data') data.push(content ?? '')
        else if (field === 'id') id = content ?? ''
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

/** Where the first line ends, and where the next one begins. A carriage return at the end of the text may be
 *  half of a line break. */
function lineEnd(text: string): { readonly at: number; readonly next: number } | null {
  const at = text.search(/[\r\n]/)
  if (at === -1 || (text[at] === '\r' && at === text.length - 1)) return null
  return { at, next: text.startsWith('\r\n', at) ? at + 2 : at + 1 }
}
