import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commands, prompt } from '../../../src/cli/commands/index.ts'
import type { NewMessage } from '../../../src/core/message.ts'
import { storeOf } from '../running.ts'
import { commandLine, type Home, home } from '../skein.ts'
import { heldUp } from './held-up.ts'
import { expectStop, type LockedHome, lockedHome, mostStopMs } from './stop-command.ts'

let here: Home
beforeAll(async () => {
  here = home()
  const store = await storeOf(here)
  const { branch } = await store.findOrCreate('cli:long', { title: 'long' })
  const lines = Array.from({ length: 2_000 }, (_, i): NewMessage => {
    return { role: i % 2 === 0 ? 'user' : 'assistant', content: `${i} ${'words '.repeat(200)}` }
  })
  await store.append(branch, null, lines)
  await store.close()
})
afterAll(() => here[Symbol.dispose]())

/** A command whose output is larger than a pipe and is not read never ends by itself. */
describe('a command that is still running', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)('ends after %s', async signal => {
    for (const args of [
      ['show', 'cli:long', '--all'],
      ['export', 'cli:long'],
      ['export', 'cli:long', '--native'],
    ]) {
      const [file, argv] = commandLine(args)
      const child = spawn(file, argv, { cwd: here.cwd, env: here.env, stdio: ['ignore', 'pipe', 'ignore'] })
      const exited = once(child, 'exit')
      await Promise.race([once(child.stdout, 'readable'), exited])
      const sent = performance.now()
      child.kill(signal)
      const [code, by] = await exited
      // No handler has to run, so even a busy machine is fast enough.
      expect(performance.now() - sent).toBeLessThan(mostStopMs)
      // There is nothing to clean up: the signal itself ends the process.
      expect([args, code ?? by]).toEqual([args, signal])
      child.stdout.destroy()
    }
  })
})

it('names for every command how it is held up, or why nothing holds it up', () => {
  // A new command is stopped by `npm run battery -- signals` once it is in the table.
  expect(Object.keys(heldUp)).toEqual([prompt, ...commands].map(({ name }) => name))
})

describe.runIf(process.platform === 'linux')('a command that waits for a locked store', () => {
  let locked: LockedHome
  beforeAll(async () => {
    locked = await lockedHome()
  })
  afterAll(() => locked[Symbol.dispose]())

  it.each(['SIGTERM', 'SIGINT'] as const)('ends within half a second after %s', async signal => {
    const names = ['chat', 'acp', 'gc', 'dispatch work', 'import']
    await Promise.all(names.map(name => expectStop(locked, name, signal)))
  })
})
