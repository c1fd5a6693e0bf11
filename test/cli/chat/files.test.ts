import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { MediaBlock } from '../../../src/core/block.ts'
import { pathOf } from '../../../src/core/path.ts'
import { modelHome } from '../real-model.ts'
import { storeOf } from '../running.ts'
import { type Home, home } from '../skein.ts'
import { terminal } from '../terminal.ts'

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

/** The user's messages of the newest conversation: the words, and the names of the files. */
async function sent(here: Home): Promise<readonly (readonly [string, ...string[]])[]> {
  await using store = await storeOf(here)
  const { items } = await store.listConversations({ directory: here.cwd })
  const path = await pathOf(store, items[0]!.branch.head!)
  return path
    .filter(({ role }) => role === 'user')
    .map(({ content }) => {
      const words = content.flatMap(block => (block.type === 'text' ? [String(block.text)] : []))
      const files = content.filter(({ type }) => type !== 'text') as unknown as MediaBlock[]
      return [words.join(''), ...files.map(({ type, name }) => `${type} ${name}`)]
    })
}

describe('files in a chat', () => {
  it('are sent by @path with completion, by /attach and by -a', async () => {
    using here = home()
    mkdirSync(join(here.cwd, 'src'))
    writeFileSync(join(here.cwd, 'src/main.ts'), 'export const answer = 42\n')
    writeFileSync(join(here.cwd, 'my notes.txt'), 'buy milk\n')
    writeFileSync(join(here.cwd, 'first.txt'), 'one')
    writeFileSync(join(here.cwd, 'app.bin'), Buffer.from([0, 1]))
    using chat = terminal(here, ['chat', '-a', 'first.txt'])
    await chat.see('with first.txt')
    chat.type('hello\r')
    await chat.seeNext('with first.txt (3 B)')
    await chat.seeNext(/scripted · [^\n]*free\n› $/)

    chat.type('explain @s\t')
    await chat.seeNext(/› explain @src\/$/)
    chat.type('\tand @my\t')
    await chat.seeNext(/› explain @src\/main\.ts and @"my notes\.txt" $/)
    chat.type('\r')
    await chat.seeNext('with src/main.ts (25 B), my notes.txt (9 B)')
    await chat.seeNext(/scripted · [^\n]*free\n› $/)

    chat.type('/attach my\t\r')
    await chat.seeNext('attached my notes.txt (9 B): it goes with your next message')
    await chat.seeNext(/with my notes\.txt\n› $/)
    chat.type('/attach app.bin\r')
    await chat.seeNext('skein: app.bin is neither text nor a picture')
    await chat.seeNext(/› $/)
    chat.type('and @app.bin\r')
    await chat.seeNext(/skein: app\.bin is neither[\s\S]*› and @app\.bin$/)
    chat.type('\x15what is in it?\r')
    await chat.seeNext('with my notes.txt (9 B)')
    await chat.seeNext(/scripted · [^\n]*free\n› $/)
    chat.type('\x04')
    expect(await chat.ended).toBe(0)
    expect(await sent(here)).toEqual([
      ['hello', 'file first.txt'],
      ['explain @src/main.ts and @"my notes.txt" ', 'file src/main.ts', 'file my notes.txt'],
      ['what is in it?', 'file my notes.txt'],
    ])
  })

  it('go along when a message is edited, and /detach takes them back', async () => {
    using here = home()
    writeFileSync(join(here.cwd, 'a.txt'), 'a')
    await here.skein(['-q', '-a', 'a.txt', 'hello'])
    using chat = terminal(here, ['chat'])
    await chat.see('› ')
    chat.type('/edit\r')
    await chat.seeNext(/with a\.txt\n› hello$/)
    chat.type('\x15/detach\r')
    await chat.seeNext('took back 1 file')
    await chat.seeNext(/free\n› $/)
    chat.type('\x04')
    expect(await chat.ended).toBe(0)
  })

  it('include pictures by path, and a line says if the model does not take them', async () => {
    await using here = await modelHome(['A red dot.'])
    const shot = join(here.cwd, 'red dot.png')
    writeFileSync(shot, png)
    using chat = terminal(here, ['chat'])
    await chat.see('› ')
    // A terminal pastes the path of a dropped file.
    chat.type(`\x1b[200~'${shot}'\x1b[201~what is this?`)
    await chat.seeNext('› @"')
    chat.type('\r')
    await chat.seeNext('with red dot.png (image, 70 B)')
    await chat.seeNext('A red dot.')
    const body = JSON.stringify(here.server.requests.at(-1)?.body)
    expect(body).toContain('"type":"image"')
    expect(body).toContain(png.toString('base64'))
    chat.type('\x04')
    expect(await chat.ended).toBe(0)

    const demo = await here.skein(['-n', '-m', 'scripted', '-a', shot, 'what is this?'])
    expect(demo.stderr).toContain(
      '! scripted does not take image: it is told only that red dot.png was attached',
    )
  })

  it('go with the first line of a pipe', async () => {
    using here = home()
    writeFileSync(join(here.cwd, 'a.txt'), 'a')
    const piped = await here.skein(['chat', '-a', 'a.txt'], { input: 'one @a.txt\ntwo @a.txt\n' })
    expect(piped.code).toBe(0)
    expect(await sent(here)).toEqual([['one @a.txt', 'file a.txt'], ['two @a.txt']])
    const missing = await here.skein(['chat', '-a', 'none.txt'], { input: 'one\n' })
    expect([missing.code, missing.stderr]).toEqual([2, 'skein: there is no file none.txt\n'])
  })
})
