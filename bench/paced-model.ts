import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Tokens of an answer. A request may ask for another number. */
export const tokens = 5_000
/** Faster than the fastest providers: a slower answer only hides more. */
export const tokensPerSecond = 2_000

/** A model that answers over HTTP in OpenAI's chat protocol, token by token: paced, or (`?hurry`) as fast as
 *  possible. `?tokens=n` asks for another length. */
export async function startPacedModel(): Promise<{ readonly server: Server; readonly url: string }> {
  const server = createServer((request, response) => {
    const asked = new URL(request.url!, 'http://model').searchParams
    const count = Number(asked.get('tokens') ?? tokens)
    const hurry = asked.has('hurry')
    request.resume()
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const started = performance.now()
    let sent = 0
    const send = () => {
      const due = hurry ? sent + 20 : Math.floor(((performance.now() - started) * tokensPerSecond) / 1_000)
      for (; sent < Math.min(due, count); sent++) response.write(frame({ content: `word${sent % 10} ` }))
      if (sent >= count) response.end(`${frame({}, 'stop')}data: [DONE]\n\n`)
      else if (hurry) setImmediate(send)
      else setTimeout(send, 1)
    }
    send()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` }
}

function frame(delta: { readonly content?: string }, finish: 'stop' | null = null): string {
  const choices = [{ index: 0, delta, finish_reason: finish }]
  const chunk = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 0, model: 'paced', choices }
  return `data: ${JSON.stringify(chunk)}\n\n`
}
