import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { lockFile } from '../../support/lock-file.ts'
import { dataFile } from '../running.ts'
import { home } from '../skein.ts'
import { terminal } from '../terminal.ts'

// A locked store is retried for seconds, and many processes run on few cores.
vi.setConfig({ testTimeout: 120_000 })

describe('a chat whose store is locked', () => {
  it.each(['/quit\r', '\x04'])(
    'offers to write unsaved messages to a file when it ends (%j)',
    async leave => {
      using here = home()
      using chat = terminal(here, ['chat'], { patienceMs: 60_000 })
      await chat.see('› ')
      chat.type('first words\r')
      await chat.seeNext(/102k · free[\s\S]*› $/)
      using lock = await lockFile(dataFile(here))
      chat.type('/say the second answer\r')
      await chat.seeNext('the second answer')
      await chat.seeNext('not saved yet')
      await chat.seeNext(/› $/)
      chat.type(leave)
      await chat.seeNext('waiting for the store to save 2 messages')
      chat.type('\x03')
      await chat.seeNext(
        /! 2 messages could not be saved:\n {2}› \/say the second answer\n {4}the second answer\n/,
      )
      await chat.seeNext('write them to a file, to import later? y/N')
      chat.type('y\r')
      await chat.seeNext(/To store them later: skein import /)
      expect(await chat.ended).toBe(1)

      const [file] = readdirSync(here.cwd).filter(name => name.startsWith('skein-unsaved-'))
      expect(statSync(join(here.cwd, file!)).mode & 0o777).toBe(0o600)
      await lock.release()
      const imported = await here.skein(['import', file!])
      expect([imported.code, imported.stderr]).toEqual([0, expect.stringContaining('2 messages')])
      expect((await here.skein(['search', 'second answer'])).stdout).toContain('the second answer')
    },
  )

  it('puts the first words of a new conversation back into the prompt, and sends them on Enter', async () => {
    using here = home()
    await here.skein(['-q', 'something earlier'])
    using chat = terminal(here, ['chat', '-n'], { patienceMs: 60_000 })
    await chat.see('› ')
    using lock = await lockFile(dataFile(here))
    chat.type('My name is Ada\r')
    await chat.seeNext('! not sent: your words are back in the prompt. Press Enter to try again')
    await chat.seeNext(/› My name is Ada$/)
    await lock.release()
    chat.type('\r')
    await chat.seeNext('Nice to meet you, Ada.')
  })
})
