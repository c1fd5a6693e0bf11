import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { commandShapes as shapes } from '../../src/api/schema/command/index.ts'
import { textOf } from '../../src/core/message.ts'
import { pathOf } from '../../src/core/path.ts'
import { openStore } from '../../src/index.ts'
import { startProxy } from '../stores/postgres/proxy.ts'
import { createDatabase } from '../support/postgres.ts'
import { postgresUrl } from '../support/postgres-url.ts'
import { type Home, home } from './skein.ts'
import { terminal } from './terminal.ts'

// Many processes on few cores.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

/** The command on a server: another engine, the same output. */
describe('on PostgreSQL', () => {
  let here: Home
  let url: string

  beforeAll(async () => {
    here = home()
    url = await createDatabase(await postgresUrl())
  })
  afterAll(() => here[Symbol.dispose]())

  const skein = (args: readonly string[], input = '') => here.skein([...args, '--db', url], { input })

  async function json<T>(command: string, ...args: readonly string[]): Promise<T> {
    const { stdout, stderr, code } = await skein([...args, '--json'])
    expect([stderr, code], args.join(' ')).toEqual(['', 0])
    const value = JSON.parse(stdout)
    expect(shapes[command]![0]!.schema.safeParse(value).error, args.join(' ')).toBeUndefined()
    return value
  }

  /** The texts of the only conversation in a database, oldest first. */
  async function textsIn(db: string): Promise<readonly string[]> {
    await using store = await openStore(db)
    const { items } = await store.listConversations()
    expect(items).toHaveLength(1)
    const { head } = await store.getBranch({ conversationId: items[0]!.id, name: 'main' })
    return (await pathOf(store, head!)).map(textOf)
  }

  it('a prompt, a chat, forks and the reading commands work as on a file', async () => {
    const first = await skein(['My name is Ada'])
    expect(first).toMatchObject({ code: 0, stdout: 'Nice to meet you, Ada.\n' })
    // A server is not a file that is created on the first run.
    expect(first.stderr).toContain('\nnew conversation\n')
    const second = await skein(['What is my name?'])
    expect(second.stdout).toBe('Your name is Ada.\n')
    expect(second.stderr).toContain('continuing "My name is Ada" · main · 2')
    expect((await skein(['chat', '-q'], 'what did I say first?\n')).stdout).toContain('My name is Ada')

    const [listed] = await json<{ id: string; path_messages: number }[]>('ls', 'ls')
    expect(listed).toMatchObject({ path_messages: 6 })
    const { path } = await json<{ path: { id: string }[] }>('show', 'show', listed!.id.slice(0, 6))
    await json('fork', 'fork', path[1]!.id.slice(0, 6))
    expect(await json('branches', 'branches', listed!.id)).toHaveLength(2)
    expect((await skein(['-c', 'main-2', 'My name is Bo'])).stdout).toContain('Bo')
    expect(await json('search', 'search', 'Ada')).toHaveLength(4)
    const { stdout } = await skein(['tree'])
    expect(stdout.match(/^ *------$/gm)).toHaveLength(2)
    const near = await skein(['show', `${path[0]!.id.slice(0, 20)}0`])
    expect(near).toMatchObject({ code: 3, stderr: expect.stringContaining(path[0]!.id.slice(0, 6)) })
  })

  it('a prompt waits for the server seven times, and the receipt five times more', async () => {
    const tripsOf = async (...args: readonly string[]) => {
      const { stderr, code } = await here.skein([...args, '--db', url], { env: { SKEIN_DEBUG: 'statement' } })
      expect(code, stderr).toBe(0)
      // The end of a transaction that only reads is not waited for.
      return [...stderr.matchAll(/skein:statement \S+ ms postgres (.*) ·/g)].filter(
        ([, what]) => what !== 'ROLLBACK',
      )
    }
    // The version, the newest conversation, its open turns and last message; the agent reads the conversation
    // with its history, and stores the question and the answer.
    expect(await tripsOf('-q', 'What is my name?')).toHaveLength(7)
    expect(await tripsOf('What is my name?')).toHaveLength(12)
  })

  it('a chat says once that the server is away after its first message, and saves the rest when it is back', async () => {
    const own = await createDatabase(await postgresUrl())
    const proxy = await startProxy(own)
    using chat = terminal(here, ['chat', '--db', proxy.url], { patienceMs: 60_000 })
    await chat.see('› ')
    // Sent to a key. The messages after it go to the branch that was created.
    chat.type('/say the first answer\r')
    await chat.seeNext(/102k · free[\s\S]*› $/)
    proxy.cut = () => 'before'
    chat.type('/say the second answer\r')
    await chat.seeNext('! not saved yet: ')
    await chat.seeNext(/ · 2 not saved\n› $/)
    chat.type('/say the third answer\r')
    await chat.seeNext(/ · 4 not saved\n› $/)
    proxy.cut = () => null
    await chat.seeNext('! saved now: nothing was lost')
    chat.type('\x04')
    expect(await chat.ended).toBe(0)
    expect(chat.screen().match(/not saved yet|saved now|^skein: /gm)).toEqual(['not saved yet', 'saved now'])
    expect(await textsIn(own)).toEqual(
      ['first', 'second', 'third'].flatMap(which => [`/say the ${which} answer`, `the ${which} answer`]),
    )
  })

  it('a chat keeps its first words in the prompt if the server is away, and sends them on Enter', async () => {
    const own = await createDatabase(await postgresUrl())
    const proxy = await startProxy(own)
    for (const words of ['My name is Ada', 'What is my name?']) {
      using chat = terminal(here, ['chat', '--db', proxy.url], { patienceMs: 60_000 })
      await chat.see(/102k · free\n› $/)
      proxy.cut = () => 'before'
      chat.type(`${words}\r`)
      await chat.seeNext('! not sent: your words are back in the prompt. Press Enter to try again')
      await chat.seeNext(new RegExp(`› ${words.replace('?', '\\?')}$`))
      proxy.cut = () => null
      chat.type('\r')
      await chat.seeNext(/102k · free[\s\S]*› $/)
      chat.type('\x04')
      expect(await chat.ended).toBe(0)
      expect(chat.screen().match(/not saved yet|saved now|^skein: /gm)).toEqual(['skein: '])
    }
    expect(await textsIn(own)).toEqual([
      'My name is Ada',
      'Nice to meet you, Ada.',
      'What is my name?',
      'Your name is Ada.',
    ])
  })

  it('a picker and Ctrl+C work in a terminal', async () => {
    using chat = terminal(here, ['resume', '--db', url])
    await chat.see('this directory  1/1')
    chat.type('\r')
    await chat.seeNext(/› $/)
    chat.type('/slow 50 one two three four five six seven eight nine ten eleven twelve\r')
    await chat.seeNext(/^one two three/m)
    chat.type('\x03')
    await chat.seeNext(/! stopped after .*, saved as [a-z2-7]{6}/)
    chat.type('\x04')
    expect(await chat.ended).toBe(0)
  })

  it('the trash and the maintenance commands work', async () => {
    const [listed] = await json<{ id: string }[]>('ls', 'ls')
    await json('rm', 'rm', listed!.id, '--yes')
    expect(await json('ls', 'ls')).toEqual([])
    expect(await json('trash', 'trash')).toHaveLength(1)
    await json('restore', 'restore', listed!.id)
    await json('gc', 'gc', '--dry-run')
    await json('gc', 'gc')
    await json('migrate', 'migrate')
    await json('stats', 'stats')
    expect((await skein(['verify'])).code).toBe(0)
    const { checks } = await json<{ checks: { name: string; status: string; message: string }[] }>(
      'doctor',
      'doctor',
    )
    expect(checks.filter(({ status }) => status === 'failed')).toEqual([])
  })

  it('a password is never printed, and an unreachable server is reported in one line', async () => {
    const { stdout } = await here.skein(['config', '--db', 'postgres://ada:secret@localhost:1/x', '--json'])
    expect(stdout).toContain('ada:***@localhost')
    expect(stdout).not.toContain('secret')
    const gone = await here.skein(['ls', '--db', 'POSTGRES://ada:secret@localhost:1/x'])
    expect(gone.code).toBe(1)
    expect(gone.stderr).toMatch(/^skein: [^\n]* doctor\n$/)
    expect(gone.stderr).toContain('Is the server running?')
    expect(gone.stderr).not.toContain('secret')
    const doctor = await here.skein(['doctor', '--db', 'postgres://ada:secret@localhost:1/x'])
    expect(doctor.stdout).toContain(
      '✗ store    postgres://ada:***@localhost:1/x: PostgreSQL cannot be reached',
    )
    expect(doctor.stdout + doctor.stderr).not.toContain('secret')
  })
})
