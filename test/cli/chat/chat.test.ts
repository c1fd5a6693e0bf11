import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { collectPages } from '../../../src/core/pages.ts'
import { pathOf } from '../../../src/core/path.ts'
import { openStore } from '../../../src/index.ts'
import { type Home, home } from '../skein.ts'
import { terminal } from '../terminal.ts'

/** Every path of the newest conversation in this directory. */
async function stored(here: Home) {
  await using store = await openStore(join(here.env.XDG_DATA_HOME!, 'skein/conversations.db'))
  const { items } = await store.listConversations({ directory: here.cwd })
  const branches = await Promise.all(
    items.map(async ({ id }) => {
      const all = await collectPages(page => store.listBranches(id, page))
      return Promise.all(
        all.map(async ({ name, head, key }) => ({ name, key, path: head ? await pathOf(store, head) : [] })),
      )
    }),
  )
  return { conversations: items, branches: branches.flat() }
}

describe('chat on a terminal', () => {
  it('answers, exits, and continues the conversation in the next run', async () => {
    using here = home()
    using first = terminal(here, ['chat'])
    await first.see('no key set')
    await first.see('new conversation')
    await first.see('main · scripted · ')
    first.type('My name is Ada\r')
    await first.seeNext('Nice to meet you, Ada.')
    await first.seeNext(/main · scripted · .*102k · free[\s\S]*› $/)
    first.type('\x04')
    expect(await first.ended).toBe(0)

    using second = terminal(here, []) // `skein` without arguments is a chat.
    await second.see('continuing "My name is Ada" · main · 2')
    await second.see('Nice to meet you, Ada.')
    second.type('what is my name?\r')
    await second.seeNext('Your name is Ada.')
    second.type('\x1b[A') // The input history, including earlier runs.
    await second.seeNext('› what is my name?')
    second.type('\x1b[A')
    await second.seeNext('› My name is Ada')
    second.type('\x1b[B\x1b[B')
    await second.seeNext(/› $/)
    second.type('/quit\r')
    expect(await second.ended).toBe(0)

    const { conversations, branches } = await stored(here)
    expect(conversations).toHaveLength(1)
    expect(branches[0]!.path).toHaveLength(4)
    const typed = statSync(join(here.env.XDG_DATA_HOME!, 'skein/typed-lines'))
    expect(typed.mode & 0o777).toBe(0o600)
  })

  it('stops an answer at Ctrl+C, stores the partial answer, and exits at the second (S3-76)', async () => {
    using here = home()
    using chat = terminal(here, ['chat'])
    await chat.see('› ')
    chat.type('/slow 300 one two 3 4 5 6 7 8 9 a b c d e f g h i j k l m n o p q r s t u ten\r')
    await chat.seeNext(/ten\n+one two/)
    chat.type('\x03')
    await chat.seeNext(
      /! stopped after \d+ s, saved as [a-z2-7]{6}\. Type to continue\. Ctrl\+C again to quit\./,
    )
    expect(chat.screen()).toMatch(/\none two.*\^C\n! stopped/)
    const id = /saved as (\w+)/.exec(chat.screen())![1]!
    await chat.seeNext(/› $/)
    chat.type('\x03')
    expect(await chat.ended).toBe(130)

    const { branches } = await stored(here)
    const last = branches[0]!.path.at(-1)!
    expect(last.id.startsWith(id)).toBe(true)
    expect(last.role).toBe('assistant')
    expect(last.metadata).toMatchObject({ interrupted: true })
    expect(JSON.stringify(last.content)).toMatch(/one two/)
    expect(JSON.stringify(last.content)).not.toMatch(/ten/)
  })

  it('answers the same message again with /retry, and can be stopped before the first word', async () => {
    using here = home()
    writeFileSync(join(here.cwd, 'notes.txt'), 'some notes')
    await here.skein(['-q', '-a', 'notes.txt', '/slow 3000 last'])
    using chat = terminal(here, ['chat'])
    await chat.see('› ')
    chat.type('/retry\r')
    await chat.seeNext('asking again. The answer so far is kept on main: /switch main')
    await chat.seeNext('scripted') // The chat waits for the lock.
    chat.type('\x03')
    await chat.seeNext(/\^C\n! stopped after \d+ s, before the first word\. Press Enter to ask again\./)
    await chat.seeNext(/› $/)
    chat.type('\x03')
    expect(await chat.ended).toBe(130)
    const { branches } = await stored(here)
    expect(branches.map(({ name }) => name)).toEqual(['main', 'slow-3000-last'])
    const [first, again] = branches.map(({ path }) => path[0]!)
    expect(again!.id).toBe(first!.id)
    expect(first!.content.length).toBeGreaterThan(1)
  })

  it('warns before Ctrl+C at an empty prompt exits, and only clears a typed line', async () => {
    using here = home()
    using chat = terminal(here, ['chat', '-q'])
    await chat.see('› ')
    chat.type('half a thought\x03')
    await chat.seeNext(/› half a thought[\s\S]*› $/)
    chat.type('\x03')
    await chat.seeNext(/› $/)
    chat.type('\x03')
    expect(await chat.ended).toBe(130)
  })

  it('accepts several lines, and shows a long paste by its size', async () => {
    using here = home()
    using chat = terminal(here, ['chat'])
    await chat.see('› ')
    chat.type('one\\\rtwo\x1b\rthree')
    await chat.seeNext(/› one\n {2}two\n {2}three/)
    chat.type('\r')
    await chat.seeNext(/› $/)
    const words = Array.from({ length: 214 }, (_, n) => `line ${n}`).join('\r\n')
    chat.type(`\x1b[200~${words}\x1b[201~ what is this?`)
    await chat.seeNext('› [pasted 214 lines] what is this?')
    chat.type('\r')
    await chat.seeNext(/main · [\s\S]*› $/)
    chat.type('/quit\r')
    expect(await chat.ended).toBe(0)
    const { branches } = await stored(here)
    const said = branches[0]!.path
      .filter(({ role }) => role === 'user')
      .map(({ content: blocks }) => blocks[0]!)
    expect(said[0]).toMatchObject({ text: 'one\ntwo\nthree' })
    expect(said[1]).toMatchObject({ text: `${words.replaceAll('\r\n', '\n')} what is this?` })
  })

  it('completes commands and branches with Tab', async () => {
    using here = home()
    using chat = terminal(here, ['chat'])
    await chat.see('› ')
    chat.type('hello\r')
    await chat.seeNext(/main · [\s\S]*› $/)
    chat.type('/re\t')
    await chat.seeNext('/resume  /retry')
    chat.type('t\t')
    await chat.seeNext('› /retry ')
    chat.type('\r')
    await chat.seeNext('asking again.')
    await chat.seeNext(/hello · scripted[\s\S]*› $/)
    chat.type('/sw\t')
    await chat.seeNext('› /switch ')
    chat.type('\t')
    await chat.seeNext('main  hello')
    chat.type('m\t\r')
    await chat.seeNext('now on main')
    await chat.seeNext(/main · scripted[\s\S]*› $/)
    chat.type('\x04')
    expect(await chat.ended).toBe(0)
  })

  it('redraws the prompt after a resize, and leaves the output above unchanged', async () => {
    using here = home()
    using chat = terminal(here, ['chat'], { columns: 200 })
    await chat.see(/~?\/.*work · main · 0 messages · scripted · .* \/help/)
    chat.type('x'.repeat(60))
    await chat.see('x'.repeat(60))
    chat.resize(40, 20)
    await chat.see(/› x{37}\n {2}x{23}$/)
    // The output above the prompt is unchanged, and the prompt is not printed twice.
    const once = () => {
      for (const words of ['new conversation', 'scripted']) expect(chat.screen().split(words)).toHaveLength(2)
    }
    once()
    chat.resize(200, 30)
    await chat.see(/› x{60}$/)
    once()
    chat.type('\x03\x04')
    expect(await chat.ended).toBe(0)
  })

  it('retries the unanswered question when Enter is pressed', async () => {
    using here = home()
    using chat = terminal(here, ['chat'])
    await chat.see('› ')
    chat.type('/fail 500\r')
    await chat.seeNext('skein: scripted: answered 500')
    await chat.seeNext('! your last message has no answer yet: press Enter to ask again')
    await chat.seeNext(/› $/)
    chat.type('\r')
    await chat.seeNext('skein: scripted: answered 500')
    await chat.seeNext(/› $/)
    chat.type('\x04')
    expect(await chat.ended).toBe(0)
    using again = terminal(here, ['chat'])
    await again.see('! your last message has no answer yet: press Enter to ask again')
    again.type('\x04')
    await again.ended
    const { branches } = await stored(here)
    expect(branches[0]!.path).toHaveLength(1)
  })

  it('continues after Ctrl+Z if there is no shell to return from', async () => {
    using here = home()
    using chat = terminal(here, ['chat'])
    await chat.see('› ')
    chat.type('half a')
    await chat.see(/› half a$/)
    chat.type('\x1a')
    await chat.see(/› half a\n[\s\S]*› half a$/)
    chat.type(' thought')
    await chat.seeNext(/› half a thought$/)
    chat.type('\x03\x04')
    expect(await chat.ended).toBe(0)
  })

  it('keeps keys typed during an answer for the next prompt', async () => {
    using here = home()
    using chat = terminal(here, ['chat'])
    await chat.see('› ')
    chat.type('/slow 60 one two three four five six\r')
    await chat.seeNext(/six\n+one two/)
    chat.type('My name is Ada\r')
    await chat.see(/one two three four five six\n[\s\S]*› My name is Ada\n+Nice to meet you, Ada\./)
    chat.type('\x04')
    expect(await chat.ended).toBe(0)
  })

  it('never lets an answer or stored text control the terminal (R17)', async () => {
    using here = home()
    const hostile = '\x1b]52;c;aGk=\x07\x1b[2J\u202eevil'
    await here.skein(['-q', `/say ${hostile}`])
    using chat = terminal(here, ['chat'])
    await chat.see(/␛\[2J[\s\S]*› $/)
    chat.type('/history\r')
    // A key that is pressed while the command has the terminal may be lost.
    await chat.seeNext(/› \/history[\s\S]*␛\[2J[\s\S]*› $/)
    chat.type('\x04')
    await chat.ended
    expect(chat.raw).not.toContain('\x1b]52')
    expect(chat.raw).not.toContain('\x1b[2J')
    expect(chat.raw).not.toContain('\u202e')
  })

  it('stores nothing in incognito, and says so', async () => {
    using here = home()
    using chat = terminal(here, ['chat', '-G'])
    await chat.see('incognito: nothing is opened, nothing is kept')
    chat.type('My name is Ada\r')
    await chat.seeNext('Nice to meet you, Ada.')
    await chat.seeNext(/› $/)
    chat.type('/model scripted\r')
    await chat.seeNext(/› $/)
    chat.type('what is my name?\r')
    await chat.seeNext('Your name is Ada.')
    chat.type('/tree\r')
    await chat.seeNext('nothing is stored')
    chat.type('\x04')
    expect(await chat.ended).toBe(0)
    expect(() => statSync(join(here.env.XDG_DATA_HOME!, 'skein'))).toThrow('ENOENT')
  })
})
