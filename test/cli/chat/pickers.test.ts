import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openStore } from '../../../src/stores/open.ts'
import { home } from '../skein.ts'
import { storeFile, tell } from '../stock.ts'
import { terminal } from '../terminal.ts'

const prompt = /› $/

describe('pickers', () => {
  it('find a conversation while the user types, and continue it', async () => {
    using here = home()
    await here.skein(['chat', '-q'], {
      input: 'My name is Ada\n/new\nwhy is the build red?\n/new\nlunch plans\n',
    })
    using chat = terminal(here, ['resume'])
    await chat.see(/Continue which conversation\? +this directory {2}3\/3/)
    await chat.see('› lunch plans')
    await chat.see(/first {2}lunch plans/)
    chat.type('nice ada') // A word of the last answer.
    await chat.seeNext(/nice ada +this directory {2}1\/3/)
    await chat.seeNext('› My name is Ada')
    chat.type('\r')
    await chat.seeNext('continuing "My name is Ada" · main · 2')
    await chat.seeNext(prompt)
    expect(chat.screen()).not.toContain('Continue which')
    chat.type('/resume\r')
    await chat.seeNext('esc stay here')
    chat.type('\x1b')
    await chat.seeNext(prompt)
    chat.type('what is my name?\r')
    await chat.seeNext('Your name is Ada.')
    chat.type('\x04')
    expect(await chat.ended).toBe(0)
  })

  it('list all directories, fork, open the pager, and are left with Escape', async () => {
    using here = home()
    await here.skein(['-q', 'elsewhere'], { cwd: here.env.HOME! })
    await here.skein(['-q', 'My name is Ada'])
    using chat = terminal(here, ['resume'])
    await chat.see('this directory  1/1')
    chat.type('\t')
    await chat.seeNext('all directories  2/2')
    chat.type('elsew')
    await chat.seeNext(/› elsewhere/)
    await chat.seeNext(/in {5}~/)
    chat.type('\x15ada\x14') // Ctrl+T opens the pager, and then the list again.
    await chat.seeNext('Nice to meet you, Ada.')
    await chat.seeNext('esc leave')
    chat.type('ada\x06') // Ctrl+F forks.
    await chat.seeNext(/your next message forks at \w{6}\n/)
    await chat.seeNext(/new branch · scripted[\s\S]*› $/)
    chat.type('\x04')
    expect(await chat.ended).toBe(0)

    using fresh = terminal(here, ['resume'])
    await fresh.see('esc leave')
    fresh.type('\x1b')
    expect(await fresh.ended).toBe(0)
    expect(fresh.screen()).not.toContain('new conversation')
  })

  it('search the store for conversations older than the listed ones', async () => {
    using here = home()
    mkdirSync(dirname(storeFile(here)), { recursive: true })
    {
      await using store = await openStore(storeFile(here), { durability: 'normal' })
      await tell(store, { directory: here.cwd, title: 'The oldest of them all' }, 'hello')
      for (let n = 0; n < 510; n++) await store.create({ directory: here.cwd, title: `filler ${n}` })
    }
    using chat = terminal(here, ['resume'])
    await chat.see('this directory  500/511')
    chat.type('them old')
    await chat.seeNext(/them old +this directory {2}1\/511/)
    await chat.seeNext('› The oldest of them all')
    await chat.seeNext(/first {2}hello/)
    chat.type('\r')
    await chat.seeNext('continuing "The oldest of them all" · main · 1')
    await chat.seeNext(prompt)
    chat.type('\x04')
    expect(await chat.ended).toBe(0)
  })

  it('put a question back for editing with /fork, and change the branch with /switch', async () => {
    using here = home()
    using chat = terminal(here, ['chat'])
    await chat.see(prompt)
    chat.type('My name is Ada\r')
    await chat.seeNext(/Ada\.[\s\S]*› $/)
    chat.type('what is my name?\r')
    await chat.seeNext(/Ada\.[\s\S]*› $/)
    chat.type('/fork\r')
    await chat.seeNext('Which message do you want to rewrite?')
    chat.type('ada\r')
    await chat.seeNext('your next message makes a new branch. This one is kept on main: /switch main')
    await chat.seeNext('› My name is Ada')
    chat.type('\x7f\x7f\x7fBob\r')
    await chat.seeNext('Nice to meet you, Bob.')
    await chat.seeNext(prompt)
    chat.type('/switch\r')
    await chat.seeNext('› my-name-is-bob (here) · My name is Bob')
    chat.type('\x1b[B\r')
    await chat.seeNext('now on main')
    await chat.seeNext('Your name is Ada.') // The last exchange there.
    await chat.seeNext(prompt)
    chat.type('/edit\r')
    await chat.seeNext('› what is my name?')
    chat.type('\x03')
    await chat.seeNext(prompt)
    chat.type('/clear\r')
    await chat.seeNext(/move 6 messages on 2 branches to trash\? y\/N .*\/new/)
    chat.type('n\r')
    await chat.seeNext('nothing was changed')
    await chat.seeNext(prompt)
    chat.type('/clear\r')
    await chat.seeNext('y/N')
    chat.type('y\r')
    await chat.seeNext('moved to trash')
    await chat.seeNext('new conversation')
    await chat.seeNext(prompt)
    chat.type('\x04')
    expect(await chat.ended).toBe(0)
  })
})

describe('two chats on one store', () => {
  it('run in two conversations at the same time', async () => {
    using here = home()
    using one = terminal(here, ['chat', '-n'])
    using two = terminal(here, ['chat', '--session', 'two'])
    await Promise.all([one.see(prompt), two.see(prompt)])
    one.type('/slow 20 one one one one one one one one first is done\r')
    two.type('/slow 20 two two two two two two two two second is done\r')
    await Promise.all([
      one.seeNext(/done\n+(one )+first is done[\s\S]*› $/),
      two.seeNext(/(two )+second is done[\s\S]*› $/),
    ])
    one.type('\x04')
    two.type('\x04')
    expect(await Promise.all([one.ended, two.ended])).toEqual([0, 0])
    expect(JSON.parse((await here.skein(['ls', '--json'])).stdout)).toHaveLength(2)
  })

  it('ask the user if the branch is busy: wait, fork, or cancel', async () => {
    using here = home()
    await here.skein(['-q', 'hello'])
    using one = terminal(here, ['chat'])
    using two = terminal(here, ['chat'])
    await Promise.all([one.see(prompt), two.see(prompt)])
    one.type('/slow 800 a b c d e f g h i j k l m n o p q r s t\r')
    await one.seeNext(/t\n+a b/)
    two.type('My name is Ada\r')
    await two.seeNext('! another process is answering here.')
    two.type('x')
    await two.seeNext('› My name is Ada')
    two.type('\r')
    await two.seeNext('! another process is answering here.')
    two.type('w')
    two.type('\x03') // Waiting can be aborted: nothing is sent, and the input is restored.
    await two.seeNext('! stopped: nothing was sent')
    await two.seeNext('› My name is Ada')
    two.type('\r')
    await two.seeNext('! another process is answering here.')
    two.type('b')
    await two.seeNext('yours is on branch main-2')
    await two.seeNext('Nice to meet you, Ada.')
    await two.seeNext(/main-2 · scripted/)
    one.type('\x03')
    await one.seeNext('stopped after')
    await one.seeNext(prompt)
    one.type('\x04')
    two.type('\x04')
    expect(await Promise.all([one.ended, two.ended])).toEqual([0, 0])
    const { stdout } = await here.skein(['tree'])
    expect(stdout.match(/\[USER\]/g)).toHaveLength(3)
  })

  it('continue after another chat was killed during an answer', async () => {
    using here = home()
    using chat = terminal(here, ['chat'])
    await chat.see(prompt)
    chat.type('/slow 500 one two three 4 5 6 7 8 9 a b c d e f g h i j k l m n o p q r ten\r')
    await chat.seeNext(/ten\n+one two three/)
    chat.kill('SIGKILL')
    await chat.ended
    using again = terminal(here, ['chat'])
    await again.see('continuing "/slow 500 one two')
    await again.see(/\n *one two/) // The partial answer is stored.
    await again.see(prompt)
    again.type('hello\r')
    await again.seeNext('Hello!')
    again.kill('SIGTERM')
    expect(await again.ended).toBe(130)
  })
})
