import { PassThrough, Writable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { maxLineBytes } from '../../../src/acp/wire/read-lines.ts'
import { stdioConnection } from '../../../src/acp/wire/stdio.ts'
import { heard, until } from './heard.ts'

function connected() {
  const [input, output] = [new PassThrough(), new PassThrough()]
  const handlers = heard()
  return { input, output, handlers, connection: stdioConnection(input, output, handlers) }
}

/** Reads when the test allows it. */
function slow() {
  const waiting: (() => void)[] = []
  const output = new Writable({
    highWaterMark: 1,
    write: (_chunk, _encoding, taken) => void waiting.push(taken),
  })
  return { output, takeOne: () => waiting.shift()?.() }
}

describe('a client on two streams', () => {
  it('is read line by line, and receives lines in order', async () => {
    const { input, output, handlers, connection } = connected()
    input.write('{"id":1}\r\n{"i')
    input.write('d":2}\n')
    connection.send('{"id":3}')
    connection.send(Buffer.from('{"id":4}\r'))
    await until(() => handlers.lines.length === 2)
    expect(handlers.lines).toEqual(['{"id":1}\r', '{"id":2}'])
    expect(output.read().toString()).toBe('{"id":3}\n{"id":4}\r\n')
  })

  it('has ended when its output ends, after its last line', async () => {
    const { input, handlers } = connected()
    input.end('{"id":1}\n{"id":2}')
    await handlers.over
    await turn()
    expect(handlers.events).toEqual(['{"id":1}', '{"id":2}', 'end'])
  })

  it('has ended when a stream breaks or it stops reading, and reports it once', async () => {
    const broken = connected()
    broken.input.destroy(new Error('reset'))
    await broken.handlers.over
    expect(broken.handlers.events).toEqual(['end: reset'])

    const gone = connected()
    gone.output.destroy(new Error('EPIPE'))
    await gone.handlers.over
    gone.connection.send('{"id":1}')
    gone.connection.resume()
    gone.input.end('{"id":2}\n')
    await turn()
    expect(gone.handlers.events).toEqual(['end: EPIPE'])
    expect(gone.connection.unsent).toBe(0)
  })

  it('receives lines that were sent before we closed our side, and none after', async () => {
    const { input, output, handlers, connection } = connected()
    connection.send('{"id":1}')
    connection.close()
    connection.send('{"id":2}')
    connection.close()
    expect((await output.toArray()).join('')).toBe('{"id":1}\n')
    input.end('{"id":3}\n')
    await handlers.over
    expect(handlers.lines).toEqual(['{"id":3}'])
  })

  it('is not read while it is paused, and its end waits for its lines', async () => {
    const { input, handlers, connection } = connected()
    connection.pause()
    input.end('{"id":1}\n')
    for (let round = 0; round < 20; round++) await turn()
    expect(handlers.events).toEqual([])
    connection.resume()
    await handlers.over
    expect(handlers.events).toEqual(['{"id":1}', 'end'])
  })

  it('is disconnected when a line exceeds the limit', async () => {
    const { input, handlers } = connected()
    const chunk = Buffer.alloc(maxLineBytes / 4, 'a')
    for (let count = 0; count < 5; count++) input.write(chunk)
    await handlers.over
    expect(handlers.events).toEqual([`end: it sent a line of more than ${maxLineBytes} bytes`])
    expect(input.destroyed).toBe(true)
  })
})

describe('a client that does not read', () => {
  it('leaves the bytes in `unsent`, and drains when it has read all', async () => {
    const { output, takeOne } = slow()
    const handlers = heard()
    const connection = stdioConnection(new PassThrough(), output, handlers)
    for (let count = 0; count < 3; count++) connection.send('{"id":1}')
    expect(connection.unsent).toBe(27)
    for (const left of [18, 9]) {
      takeOne()
      await turn()
      expect(connection.unsent).toBe(left)
    }
    expect(handlers.events).toEqual([])
    takeOne()
    await turn()
    expect(connection.unsent).toBe(0)
    expect(handlers.events).toEqual(['drain'])
  })

  it('drains when it disconnects, so that a relay does not wait for it', async () => {
    const { output } = slow()
    const handlers = heard()
    const connection = stdioConnection(new PassThrough(), output, handlers)
    connection.send('{"id":1}')
    output.destroy(new Error('EPIPE'))
    await handlers.over
    expect(handlers.events).toEqual(['drain', 'end: EPIPE'])
    expect(connection.unsent).toBe(0)
  })
})
