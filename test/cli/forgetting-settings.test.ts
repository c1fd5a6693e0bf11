import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { type Home, home } from './skein.ts'
import { stocked, tell } from './stock.ts'

const day = 86_400_000

function configure(here: Home, ...lines: readonly string[]): void {
  writeFileSync(join(here.cwd, 'skein.yaml'), `${lines.join('\n')}\n`)
}

async function newestOf(here: Home, fields: string): Promise<Record<string, unknown>> {
  const { stdout, stderr } = await here.skein(['ls', `--json=${fields}`, '-l', '1'])
  expect(stderr).toBe('')
  return JSON.parse(stdout)[0]
}

it('channels.<name>.expiration is the expiry of new conversations, counted from their last use', async () => {
  using here = home()
  configure(here, 'channels:', '  cli:', '    expiration: 30d')
  const before = Date.now()
  expect((await here.skein(['my name is Ada'])).code).toBe(0)
  const first = await newestOf(here, 'id,ttl_ms,expires_at')
  expect(first.ttl_ms).toBe(30 * day)
  expect(Date.parse(first.expires_at as string)).toBeGreaterThanOrEqual(before + 30 * day)
  // A named conversation and a new one have it too.
  for (const args of [
    ['-n', 'hello'],
    ['--session', 'storm', 'hello'],
  ]) {
    expect((await here.skein(args)).code).toBe(0)
    expect((await newestOf(here, 'ttl_ms')).ttl_ms, args.join(' ')).toBe(30 * day)
  }
  // Other channels and explicit settings are untouched.
  configure(here, 'channels:', '  discord:', '    expiration: 30d', '  cli:', '    expiration: off')
  await here.skein(['-n', 'hello'])
  expect(await newestOf(here, 'ttl_ms,expires_at')).toEqual({ ttl_ms: null, expires_at: null })
})

it('a conversation that has expired is not continued, and can still be named', async () => {
  using here = home()
  configure(here, 'channels:', '  cli:', '    expiration: 1ms')
  await here.skein(['my name is Ada'])
  const { id } = await newestOf(here, 'id')
  const later = await here.skein(['what is my name?', '--json=conversation,resumed,text'])
  const answer = JSON.parse(later.stdout)
  expect(answer).toMatchObject({ resumed: 'fresh' })
  expect(answer.conversation).not.toBe(id)
  expect(answer.text).not.toContain('Ada')
  const named = await here.skein(['-c', String(id), 'what is my name?', '--json=conversation,text'])
  expect(JSON.parse(named.stdout)).toMatchObject({ conversation: id, text: expect.stringContaining('Ada') })
})

it('conversation.max_age leaves out exchanges that ended too long before the question', async () => {
  using here = home()
  const old = { createdAt: new Date(Date.now() - 40 * day) }
  await stocked(here, store =>
    tell(
      store,
      { directory: here.cwd, channel: 'cli', key: 'cli:default' },
      { role: 'user', content: 'my name is Ada', ...old },
      { role: 'assistant', content: 'Hello Ada.', ...old },
    ),
  )
  const ask = async () => (await here.skein(['what is my name?'])).stdout
  configure(here, 'conversation:', '  max_age: 30d')
  expect(await ask()).not.toContain('Ada')
  configure(here, 'conversation:', '  max_age: 50d')
  expect(await ask()).toContain('Ada')
})

it('conversation.load_limit caps the messages that are read for a call', async () => {
  using here = home()
  const small = ['one', 'two', 'three', 'four'].flatMap(word => [word, `You said ${word}.`])
  await stocked(here, store =>
    tell(
      store,
      { directory: here.cwd, channel: 'cli', key: 'cli:default' },
      'my name is Ada',
      'Hello Ada.',
      ...small,
    ),
  )
  configure(here, 'conversation:', '  load_limit: 4')
  expect((await here.skein(['what is my name?'])).stdout).not.toContain('Ada')
  configure(here, 'conversation:', '  load_limit: off')
  expect((await here.skein(['what is my name?'])).stdout).toContain('Ada')
})

it('names the line of a wrong setting before a conversation is created', async () => {
  using here = home()
  configure(here, 'channels:', '  cli:', '    expiration: soon')
  const { stderr, code } = await here.skein(['-n', 'hello'])
  expect(code).not.toBe(0)
  expect(stderr).toContain('./skein.yaml:3 expiration: "soon" is not a duration')
  expect(await here.skein(['ls'])).toMatchObject({ code: 0, stdout: '' })
})
