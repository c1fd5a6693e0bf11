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

/** Takes what is written when it is let to. */
function slow() {
  const waiting: (() => void)[] = []
  const output = new Writable({
    highWaterMark: 1,
    write: (_chunk, _encoding, taken) => void waiting.push(taken),
  })
  return { output, takeOne: () => waiting.shift()?.() }
}

describe('a client on two streams', () => {
  it('is heard line by line, and is sent lines in order', async () => {
    const { input, output, handlers, connection } = connected()
    input.write('{"id":1}\r\n{"i')
    input.write('d":2}\n')
    connection.send('{"id":3}')
    connection.send(Buffer.from('{"id":4}\r'))
    await until(() => handlers.lines.length === 2)
    expect(handlers.lines).toEqual(['{"id":1}\r', '{"id":2}'])
    expect(output.read().toString()).toBe('{"id":3}\n{"id":4}\r\n')
  })

  it('has ended when nothing more comes, after its last line', async () => {
    const { input, handlers } = connected()
    input.end('{"id":1}\n{"id":2}')
    await handlers.over
    await turn()
    expect(handlers.events).toEqual(['{"id":1}', '{"id":2}', 'end'])
  })

  it('has ended when it breaks, and when it takes nothing any more, once', async () => {
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

  it('gets what was sent before we ended our side, and nothing after', async () => {
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

  it('is given up when its line does not end', async () => {
    const { input, handlers } = connected()
    const chunk = Buffer.alloc(maxLineBytes / 4, 'a')
    for (let count = 0; count < 5; count++) input.write(chunk)
    await handlers.over
    expect(handlers.events).toEqual([`end: it sent a line of more than ${maxLineBytes} bytes`])
    expect(input.destroyed).toBe(true)
  })
})

describe('a client that does not read', () => {
  it('leaves in `unsent` what it has not taken, and has drained when it has taken all', async () => {
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

  it('has drained when it has gone: whoever waits for it must go on', async () => {
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
