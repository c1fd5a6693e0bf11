import { EventEmitter } from 'node:events'
import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { openKeyboard } from '../../../../src/cli/chat/input/keyboard.ts'
import type { CommandContext } from '../../../../src/cli/command-line/command-context.ts'
import type { Output } from '../../../../src/cli/output/output.ts'

/** An input and an output without a terminal, to count what listens to them. */
function place() {
  const stdin = new PassThrough()
  const context = { stdin, signal: new AbortController().signal } as unknown as CommandContext
  const output = { write: () => undefined, stream: new EventEmitter() } as unknown as Output
  return { stdin, context, output }
}

it('leaves one listener behind, however often it is opened: each question of a prompt opens it', () => {
  const { stdin, context, output } = place()
  for (let n = 0; n < 20; n++) openKeyboard(context, output).close()
  expect(stdin.listenerCount('error')).toBe(1)
  expect([stdin.listenerCount('data'), stdin.listenerCount('end')]).toEqual([0, 0])
})

it('reads a closed key when the input fails, and survives a failure after it was closed', async () => {
  const { stdin, context, output } = place()
  const keyboard = openKeyboard(context, output)
  const next = keyboard.next()
  stdin.emit('error', new Error('read EIO'))
  expect(await next).toEqual({ type: 'closed' })
  keyboard.close()
  expect(() => stdin.emit('error', new Error('setRawMode EIO'))).not.toThrow()
})
