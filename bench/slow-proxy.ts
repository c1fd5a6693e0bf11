import { createServer } from 'node:net'
import { parentPort, workerData } from 'node:worker_threads'
import { dialPostgres } from '../test/support/dial-postgres.ts'

/** The thread of a proxy on the loopback that holds every answer back for some time. Timers have a resolution
 *  of a millisecond, so it waits by looking at the clock. Posts its port. */

const { url, delayMs } = workerData as { url: string; delayMs: number }

const server = createServer(client => {
  const upstream = dialPostgres(url)
  const held: { readonly due: number; readonly answer: Buffer }[] = []
  for (const socket of [client, upstream]) {
    socket.setNoDelay(true)
    socket.on('error', () => {})
  }
  client.on('data', sent => upstream.write(sent))
  upstream.on('data', answer => {
    if (held.push({ due: performance.now() + delayMs, answer }) === 1) setImmediate(passOn)
  })
  upstream.on('close', () => client.destroy())
  client.on('close', () => upstream.destroy())

  function passOn(): void {
    while (held.length > 0 && held[0]!.due <= performance.now()) client.write(held.shift()!.answer)
    if (held.length > 0) setImmediate(passOn)
  }
})
server.listen(0, '127.0.0.1', () => parentPort!.postMessage((server.address() as { port: number }).port))
