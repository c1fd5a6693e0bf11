import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, vi } from 'vitest'
import { textOf } from '../../src/core/message.ts'
import { collectPages } from '../../src/core/pages.ts'
import { pathOf } from '../../src/core/path.ts'
import { marker, timesGiven } from '../acp/agents/model-server.ts'
import { agentHome } from '../cli/agent/with-agents.ts'
import { dataFile, start, storeOf } from '../cli/running.ts'
import { type Home, home } from '../cli/skein.ts'
import { type Terminal, terminal } from '../cli/terminal.ts'
import { lockFile } from '../support/lock-file.ts'
import { isFull, size } from './size.ts'
import { whyNoTmpfs, writeUntilFull } from './small-disk.ts'

// R4: a store that is away for longer than every timeout in the code. In the gate it comes back after the
// turn has ended without being stored; in the battery after 75 s, which is longer than a lease (30 s) and
// than a command waits in a pipe (60 s).
const awayMs = size({ gate: 0, full: 75_000 })
const patienceMs = 30_000 + awayMs
vi.setConfig({ testTimeout: 120_000 + 2 * awayMs })

/** Everything on the path of every branch of the only conversation. */
async function pathsOf(here: Home): Promise<Record<string, readonly string[]>> {
  await using store = await storeOf(here)
  const { items } = await store.listConversations()
  expect(items).toHaveLength(1)
  const branches = await collectPages(page => store.listBranches(items[0]!.id, page))
  const paths = branches.map(async ({ name, head }) => {
    return [name, head ? (await pathOf(store, head)).map(textOf) : []] as const
  })
  return Object.fromEntries(await Promise.all(paths))
}

async function sayFirst(chat: Terminal): Promise<void> {
  await chat.see(/› $/)
  chat.type('first words\r')
  await chat.seeNext(/› $/)
}

/** Says two things in a chat while the store is away. Returns once both have ended without being stored. */
async function talkWhileAway(chat: Terminal): Promise<void> {
  chat.type('My name is Ada\r')
  await chat.seeNext('Nice to meet you, Ada.')
  await chat.seeNext(/! not saved yet: [\s\S]* · 2 not saved\n› $/)
  // The next model call has what waits.
  chat.type('what is my name?\r')
  await chat.seeNext('Your name is Ada.')
  await chat.seeNext(/ · 4 not saved\n› $/)
  // One outage is one note, however many turns wait.
  expect(chat.screen().match(/not saved yet/g)).toHaveLength(1)
  await sleep(awayMs)
}

describe.concurrent('a chat', () => {
  it('keeps what was said while the store was locked, gives it to the model, and stores it in order', async () => {
    using here = home()
    using chat = terminal(here, ['chat'], { patienceMs })
    await sayFirst(chat)
    using lock = await lockFile(dataFile(here))
    await talkWhileAway(chat)
    await lock.release()
    chat.type('and now?\r')
    await chat.seeNext(/› $/)
    chat.type('/quit\r')
    expect(await chat.ended).toBe(0)
    const { main, ...others } = await pathsOf(here)
    expect(others).toEqual({})
    const asked = ['first words', 'My name is Ada', 'what is my name?', 'and now?']
    expect(main?.filter((_, i) => i % 2 === 0)).toEqual(asked)
    expect(main).toHaveLength(8)
    expect(main?.[5]).toBe('Your name is Ada.')
  })

  it('waits for the store when it is left, and says when everything is saved', async () => {
    using here = home()
    using chat = terminal(here, ['chat'], { patienceMs })
    await sayFirst(chat)
    using lock = await lockFile(dataFile(here))
    await talkWhileAway(chat)
    chat.type('/quit\r')
    await chat.seeNext(/waiting for the store to save 4 messages/)
    await lock.release()
    await chat.seeNext('saved now: nothing was lost')
    expect(await chat.ended).toBe(0)
    expect((await pathsOf(here)).main).toHaveLength(6)
  })

  it('says what is not saved when it is left for good without the store', async () => {
    using here = home()
    using chat = terminal(here, ['chat'], { patienceMs })
    await sayFirst(chat)
    using _lock = await lockFile(dataFile(here))
    await talkWhileAway(chat)
    chat.type('/quit\r')
    await chat.seeNext(/waiting for the store to save 4 messages/)
    chat.type('\x03')
    await chat.seeNext('4 messages could not be saved')
    await chat.seeNext('write them to a file, to import later? y/N')
    chat.type('n\r')
    expect(await chat.ended).toBe(1)
  })

  const impossible = isFull ? whyNoTmpfs() : 'a full disk is made by npm run battery -- unsaved'
  it.skipIf(impossible !== null)(
    `keeps what was said while the disk was full${impossible ? `: ${impossible}` : ''}`,
    async () => {
      using here = home()
      const folder = dirname(dataFile(here))
      mkdirSync(folder, { recursive: true })
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', folder])
      try {
        using chat = terminal(here, ['chat'], { patienceMs })
        await sayFirst(chat)
        writeUntilFull(`${folder}/ballast`)
        await talkWhileAway(chat)
        rmSync(`${folder}/ballast`)
        chat.type('and now?\r')
        await chat.seeNext(/› $/)
        chat.type('/quit\r')
        expect(await chat.ended).toBe(0)
        expect((await pathsOf(here)).main).toHaveLength(8)
      } finally {
        execFileSync('umount', ['-l', folder])
      }
    },
  )
})

describe.concurrent('a prompt on the command line', () => {
  it('waits for a locked store after the answer, and ends with what it stored', async () => {
    using here = home()
    await here.skein(['first words'])
    using lock = await lockFile(dataFile(here))
    const run = start(here, ['My name is Ada'])
    await run.says('Nice to meet you, Ada.')
    await run.complains('waiting for the store to save 2 messages')
    // Without a terminal it waits for a minute.
    await sleep(Math.min(awayMs, 50_000))
    await lock.release()
    const { code, stderr } = await run.ended
    expect(code).toBe(0)
    expect(stderr).toContain('saved now: nothing was lost')
    expect((await pathsOf(here)).main).toEqual([
      'first words',
      expect.any(String),
      'My name is Ada',
      'Nice to meet you, Ada.',
    ])
  })

  it('keeps the messages in another folder if the usual one cannot be written', async () => {
    using here = home()
    await here.skein(['first words'])
    const notAFolder = join(here.cwd, 'a-file')
    writeFileSync(notAFolder, '')
    const env = { XDG_DATA_HOME: notAFolder, HOME: notAFolder, TMPDIR: join(here.cwd, 'tmp') }
    using lock = await lockFile(dataFile(here))
    const run = start(here, ['--db', dataFile(here), 'My name is Ada'], env)
    await run.complains('waiting for the store to save 2 messages')
    run.kill('SIGTERM')
    const { stderr } = await run.ended
    expect(stderr).toContain(`not written to ${notAFolder}`)
    const [, file] = stderr.match(/To add them to their conversation: skein (?:.* )?import (.*\.jsonl)/)!
    expect(dirname(file!)).toBe(env.TMPDIR)
    await lock.release()
    await here.skein(['import', file!])
    expect((await pathsOf(here)).main).toHaveLength(4)
  })

  it('prints the messages whole if no folder can be written', async () => {
    using here = home()
    await here.skein(['first words'])
    const notAFolder = join(here.cwd, 'a-file')
    writeFileSync(notAFolder, '')
    const env = { XDG_DATA_HOME: notAFolder, HOME: notAFolder, TMPDIR: notAFolder }
    using _lock = await lockFile(dataFile(here))
    const words = 'My name is Ada. '.repeat(40).trim()
    const run = start(here, ['--db', dataFile(here), words], env)
    await run.complains('waiting for the store to save 2 messages')
    run.kill('SIGTERM')
    const { stderr } = await run.ended
    expect(stderr).toContain(`\n${words}\n`)
  })

  it.skipIf(!isFull)('says after a minute that it could not save, and ends with 1', async () => {
    using here = home()
    await here.skein(['first words'])
    using _lock = await lockFile(dataFile(here))
    const { code, stderr, stdout } = await here.skein(['My name is Ada'])
    expect(stdout).toContain('Nice to meet you, Ada.')
    expect(stderr).toContain('2 messages could not be saved')
    expect(code).toBe(1)
  })
})

it.concurrent('skein agent keeps what was said while the store was locked', async () => {
  await using at = await agentHome()
  using chat = at.onTerminal([], 'good', { patienceMs })
  await chat.see(/› $/)
  chat.type(`${marker('first')}\r`)
  await chat.seeNext(/› $/)
  using lock = await lockFile(dataFile(at.here))
  chat.type(`${marker('second')}\r`)
  await chat.seeNext(/ · 2 not saved · \/help\n› $/)
  chat.type(`${marker('third')}\r`)
  await chat.seeNext(/ · 4 not saved · \/help\n› $/)
  await sleep(awayMs)
  await lock.release()
  chat.type(`${marker('fourth')}\r`)
  await chat.seeNext(/› $/)
  // The living agent keeps its memory, and is told nothing twice.
  for (const word of ['first', 'second', 'third']) expect(timesGiven(at.model.last, marker(word))).toBe(1)
  chat.type('/quit\r')
  expect(await chat.ended).toBe(0)
  const { main, ...others } = await pathsOf(at.here)
  expect(others).toEqual({})
  expect(main?.filter((_, i) => i % 2 === 0)).toEqual(['first', 'second', 'third', 'fourth'].map(marker))
  expect(main).toHaveLength(8)
})
