import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { setImmediate as turn } from 'node:timers/promises'
import { queryObjects } from 'node:v8'
import { expect, it } from 'vitest'
import { listen, type Service } from '../../src/server/index.ts'

/** A stream whose pieces are read one by one, and that stays open after the last. */
function endlessAfter(pieces: number): ReadableStream<Uint8Array> {
  let sent = 0
  return new ReadableStream(
    {
      async pull(controller) {
        await turn()
        if (sent++ < pieces) controller.enqueue(new TextEncoder().encode('.'))
        else await new Promise(() => undefined)
      },
    },
    { highWaterMark: 0 },
  )
}

const promises = () => queryObjects(Promise, { format: 'count' }) as unknown as number

it('keeps nothing of the pieces that an open stream has sent', async () => {
  const pieces = 1_000
  const service: Service = {
    fetch: async () => new Response(endlessAfter(pieces)),
    openApi: () => ({}),
    close: async () => undefined,
  }
  const listening = await listen(service, { port: 0 })
  const call = request({ port: listening.port, agent: false }).end()
  const [response] = (await once(call, 'response')) as [IncomingMessage]
  const before = promises()
  let received = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    received += chunk.length
    if (received === pieces) break
  }
  const after = promises()
  call.destroy()
  await listening.close()
  expect(received).toBe(pieces)
  // A server that chains its reads keeps a promise for each of them.
  expect(after - before).toBeLessThan(pieces / 4)
})
