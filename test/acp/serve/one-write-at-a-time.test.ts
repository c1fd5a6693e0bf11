import { Writable } from 'node:stream'
import { expect, it } from 'vitest'
import { oneWriteAtATime } from '../../../src/acp/serve/one-write-at-a-time.ts'

/** A stream whose reader takes a chunk only when it is told to. */
function slowStream() {
  const taking: ((error?: Error) => void)[] = []
  const output = new Writable({
    highWaterMark: 1_000,
    write(_chunk, _encoding, done) {
      taking.push(done)
    },
  })
  return { output, taking }
}

it('ends a write when the stream has taken it, also if the stream has room for more', async () => {
  const { output, taking } = slowStream()
  const writer = oneWriteAtATime(output).getWriter()
  let taken = 0
  const writes = [1, 2].map(async byte => {
    await writer.write(Uint8Array.of(byte))
    taken++
  })
  for (const expected of [1, 2]) {
    await new Promise(setImmediate)
    expect([taken, taking.length, output.writableLength]).toEqual([expected - 1, expected, 1])
    taking.at(-1)!()
  }
  await Promise.all(writes)
})

it('fails the writes of a stream that has failed, and nothing is thrown', async () => {
  const { output, taking } = slowStream()
  const writer = oneWriteAtATime(output).getWriter()
  writer.closed.catch(() => undefined)
  const written = expect(writer.write(Uint8Array.of(1))).rejects.toThrow('the reader is gone')
  await new Promise(setImmediate)
  taking[0]!(new Error('the reader is gone'))
  await written
  await expect(writer.write(Uint8Array.of(2))).rejects.toThrow('the reader is gone')

  const broken = slowStream()
  const later = oneWriteAtATime(broken.output).getWriter()
  broken.output.destroy(new Error('closed by the editor'))
  await expect(later.closed).rejects.toThrow('closed by the editor')
})
