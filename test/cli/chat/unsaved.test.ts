import { readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { textOf } from '../../../src/core/message.ts'
import { pathOf } from '../../../src/core/path.ts'
import { type FileLock, lockFile } from '../../support/lock-file.ts'
import { dataFile, storeOf } from '../running.ts'
import { type Home, home } from '../skein.ts'
import { type Terminal, terminal } from '../terminal.ts'

// A locked store is retried for seconds, and many processes run on few cores.
vi.setConfig({ testTimeout: 120_000 })

async function chatIn(here: Home): Promise<Terminal> {
  const chat = terminal(here, ['chat'], { patienceMs: 60_000 })
  await chat.see('› ')
  chat.type('first words\r')
  await chat.seeNext(/102k · free[\s\S]*› $/)
  return chat
}

/** The note on a locked store: the file, the process that holds it, and what to do. */
function lockedNote({ pid }: FileLock): RegExp {
  const words = [
    String.raw`\n! not saved yet: another process \(pid ${pid}\) is using the store \(\d+ s\):`,
    String.raw`~/\.local/share/skein/conversations\.db\. It is saved when that process is done\.`,
    String.raw`If it hangs: kill ${pid}\n`,
  ]
  return new RegExp(words.join(' ').replaceAll(' ', '\\s+'))
}

/** The unsaved messages in a file of the folder, imported when the store is free again. */
async function importKept(here: Home, folder = here.cwd): Promise<void> {
  const [name] = readdirSync(folder).filter(name => name.startsWith('skein-unsaved-'))
  const file = join(folder, name!)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  const imported = await here.skein(['import', file])
  expect([imported.code, imported.stderr]).toEqual([
    0,
    expect.stringMatching(/^imported 2 messages, 1 branch/),
  ])
  await using store = await storeOf(here)
  // They continue the conversation that they belong to.
  const { items } = await store.listConversations()
  expect(items).toHaveLength(1)
  const { head } = await store.getBranch({ conversationId: items[0]!.id, name: 'main' })
  const path = (await pathOf(store, head!)).map(textOf)
  expect(path).toEqual(['first words', expect.any(String), '/say the second answer', 'the second answer'])
}

describe.concurrent('a chat whose store is locked', () => {
  it('says so once, with the file, the holder and the next step, and once that all is saved', async () => {
    using here = home()
    using chat = await chatIn(here)
    using lock = await lockFile(dataFile(here))
    chat.type('/say the second answer\r')
    await chat.seeNext(lockedNote(lock))
    await chat.seeNext(/ · 2 not saved\n› $/)
    chat.type('/say the third answer\r')
    await chat.seeNext(/ · 4 not saved\n› $/)
    await lock.release()
    // Without a key: the note appears above the prompt.
    await chat.seeNext(/! saved now: nothing was lost\n\nmain · scripted · [^\n]* · free\n› $/)
    chat.type('\x04')
    expect(await chat.ended).toBe(0)
    expect(chat.screen().match(/not saved yet|saved now/g)).toEqual(['not saved yet', 'saved now'])
    expect(JSON.parse((await here.skein(['show', '--json'])).stdout).path).toHaveLength(6)
  })

  it('says that messages that are not saved are missing in what it finds and shows', async () => {
    using here = home()
    using chat = await chatIn(here)
    using lock = await lockFile(dataFile(here))
    chat.type('/say the second answer\r')
    await chat.seeNext(/ · 2 not saved\n› $/)
    const missing = (verb: string) => String.raw`! not ${verb}: 2 messages not saved yet\n`
    chat.type('/search first\r')
    await chat.seeNext(new RegExp(String.raw`first words[\s\S]*${missing('searched')}`))
    chat.type('/search second\r')
    await chat.seeNext(new RegExp(String.raw`nothing found here\n${missing('searched')}`))
    for (const command of ['/history', '/tree']) {
      chat.type(`${command}\r`)
      await chat.seeNext(new RegExp(String.raw`first words[\s\S]*${missing('shown')}`))
    }
    await lock.release()
    await chat.seeNext('! saved now: nothing was lost')
    chat.type('/search second\r')
    await chat.seeNext(/the second answer[\s\S]*› $/)
    expect(chat.screen().match(/! not (searched|shown)/g)).toHaveLength(4)
    chat.type('\x04')
    expect(await chat.ended).toBe(0)
  })

  it.each(['/quit\r', '\x04'])(
    'offers to write unsaved messages to a file when it ends (%j)',
    async leave => {
      using here = home()
      using chat = await chatIn(here)
      using lock = await lockFile(dataFile(here))
      chat.type('/say the second answer\r')
      await chat.seeNext(/ · 2 not saved\n› $/)
      chat.type(leave)
      await chat.seeNext('waiting for the store to save 2 messages')
      chat.type('\x03')
      await chat.seeNext(
        /! 2 messages could not be saved:\n {2}› \/say the second answer\n {4}the second answer\n/,
      )
      await chat.seeNext('write them to a file, to import later? y/N')
      chat.type('y\r')
      await chat.seeNext(
        /! kept in this folder\. To add them to their conversation: skein import\s+skein-unsaved-/,
      )
      expect(await chat.ended).toBe(1)
      await lock.release()
      await importKept(here)
    },
  )

  it('writes unsaved messages to a file when its terminal is closed', async () => {
    using here = home()
    using chat = await chatIn(here)
    using lock = await lockFile(dataFile(here))
    chat.type('/say the second answer\r')
    await chat.seeNext(/ · 2 not saved\n› $/)
    chat.hangUp()
    await chat.ended
    await lock.release()
    await importKept(here, dirname(dataFile(here)))
  })

  it('writes them to a file when its terminal is closed at the question whether to', async () => {
    using here = home()
    using chat = await chatIn(here)
    using lock = await lockFile(dataFile(here))
    chat.type('/say the second answer\r')
    await chat.seeNext(/ · 2 not saved\n› $/)
    chat.type('\x04')
    await chat.seeNext('waiting for the store to save 2 messages')
    chat.type('\x03')
    await chat.seeNext('write them to a file, to import later? y/N')
    chat.hangUp()
    await chat.ended
    await lock.release()
    await importKept(here, dirname(dataFile(here)))
  })

  it('says what is lost when Ctrl+C is pressed twice during an answer, and offers the file', async () => {
    using here = home()
    using chat = await chatIn(here)
    using lock = await lockFile(dataFile(here))
    chat.type(`/slow 1000 one ${'two '.repeat(60)}\r`)
    await chat.seeNext(/\none/)
    chat.type('\x03')
    await chat.seeNext('^C')
    chat.type('\x03')
    await chat.seeNext('saving this turn before leaving. Ctrl+C leaves without it')
    await chat.seeNext('waiting for the store to save 2 messages')
    chat.type('\x03')
    await chat.seeNext(/! 2 messages could not be saved:\n {2}› \/slow 1000 one two [^\n]*\n {4}one/)
    await chat.seeNext('y/N')
    chat.type('n\r')
    expect(await chat.ended).toBe(1)
    await lock.release()
  })

  it('leaves at once at the third Ctrl+C during an answer, and says that words are lost', async () => {
    using here = home()
    using chat = await chatIn(here)
    using lock = await lockFile(dataFile(here))
    chat.type(`/slow 1000 one ${'two '.repeat(60)}\r`)
    await chat.seeNext(/\none/)
    chat.type('\x03\x03\x03')
    await chat.seeNext('! left at once: the part of this turn that was not saved yet is lost')
    expect(await chat.ended).toBe(130)
    // The terminal is as it was: pasted text is no longer bracketed.
    expect(chat.raw.lastIndexOf('\x1b[?2004l')).toBeGreaterThan(chat.raw.lastIndexOf('\x1b[?2004h'))
    await lock.release()
    const { path } = JSON.parse((await here.skein(['show', '--json'])).stdout)
    expect(path).toHaveLength(2)
  })

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
    expect(chat.screen().match(/^skein: /gm)).toHaveLength(1)
    expect(JSON.parse((await here.skein(['show', '--json'])).stdout).path).toHaveLength(2)
  })

  it('queues the first words of a chat that continues a conversation', async () => {
    using here = home()
    await here.skein(['-q', 'My name is Ada'])
    using chat = terminal(here, ['chat'], { patienceMs: 60_000 })
    await chat.see(/102k · free\n› $/)
    using lock = await lockFile(dataFile(here))
    chat.type('What is my name?\r')
    await chat.seeNext('Your name is Ada.')
    await chat.seeNext(/ · 2 not saved\n› $/)
    await lock.release()
    await chat.seeNext('! saved now: nothing was lost')
    expect(chat.screen().match(/not saved yet|saved now|^skein: /gm)).toEqual(['not saved yet', 'saved now'])
    expect(JSON.parse((await here.skein(['show', '--json'])).stdout).path).toHaveLength(4)
  })
})
