import { createServer } from 'node:net'
import { dialPostgres } from '../test/support/dial-postgres.ts'

/** A proxy on the loopback that holds every answer back for some time, in a process of its own: the measuring
 *  process must not wait for it, and a network takes no time of either side. It sends its port to its parent
 *  and ends with it. */

const [url, delay] = process.argv.slice(2) as [string, string]
const delayMs = Number(delay)

const server = createServer(client => {
  const upstream = dialPostgres(url)
  const held: { readonly due: number; readonly answer: Buffer }[] = []
  for (const socket of [client, upstream]) {
    socket.setNoDelay(true)
    socket.on('error', () => {})
  }
  client.on('data', sent => upstream.write(sent))
  upstream.on('data', answer => {
    if (held.push({ due: performance.now() + delayMs, answer }) === 1) wait()
  })
  upstream.on('close', () => client.destroy())
  client.on('close', () => upstream.destroy())

  /** Timers have a resolution of a millisecond, and may be late by half of one. So it sleeps as long as that
   *  is early enough, and then looks at the clock. */
  function wait(): void {
    const left = held[0]!.due - performance.now()
    if (left > 1.5) setTimeout(passOn, left - 0.5)
    else setImmediate(passOn)
  }

  function passOn(): void {
    while (held.length > 0 && held[0]!.due <= performance.now()) client.write(held.shift()!.answer)
    if (held.length > 0) wait()
  }
})
server.listen(0, '127.0.0.1', () => process.send!((server.address() as { port: number }).port))
process.on('disconnect', () => process.exit())
