import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { heldUp } from '../cli/command-line/held-up.ts'
import { expectStop, type LockedHome, lockedHome, mostStopMs } from '../cli/command-line/stop-command.ts'
import { start } from '../cli/running.ts'
import { home } from '../cli/skein.ts'
import { note } from './note.ts'
import { size } from './size.ts'

/** Every command that waits for a store ends within half a second after a signal. */
let locked: LockedHome
beforeAll(async () => {
  locked = await lockedHome()
})
afterAll(() => locked[Symbol.dispose]())

const waiting = Object.entries(heldUp).flatMap(([name, args]) => (typeof args === 'string' ? [] : [name]))
const short = ['', 'resume', 'rm', 'discord', 'doctor', 'migrate']

describe.runIf(process.platform === 'linux')('a command that waits for a locked store', () => {
  it.each(['SIGINT', 'SIGTERM'] as const)(
    'ends after %s',
    async signal => {
      let longest = 0
      for (const name of size({ gate: short, full: waiting }))
        longest = Math.max(longest, await expectStop(locked, name, signal))
      note(`longest after ${signal}, ms`, longest)
    },
    120_000,
  )
})

it.each(['SIGINT', 'SIGTERM'] as const)(
  'a prompt that waits for stdin ends after %s',
  async signal => {
    using here = home()
    const child = start(here, ['-m', 'scripted', 'hi'], {}, 'pipe')
    await child.complains('waiting for the end of stdin')
    const sent = performance.now()
    child.kill(signal)
    await child.ended
    expect(performance.now() - sent).toBeLessThan(mostStopMs)
  },
  30_000,
)
