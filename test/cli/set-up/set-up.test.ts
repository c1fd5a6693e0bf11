import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { describe, expect, test, vi } from 'vitest'
import { home } from '../skein.ts'
import { driving, hostile, stocked, storeFile, tell } from '../stock.ts'
import { terminal } from '../terminal.ts'

const secret = 'sk-very-secret-1234567890'

// Many processes on few cores.
vi.setConfig({ testTimeout: 120_000 })

test('init creates a store that only its owner can read and that git ignores; a second run changes nothing', async () => {
  using here = home()
  const made = await here.skein(['init'])
  expect(made).toMatchObject({ code: 0, stdout: '' })
  expect(made.stderr).toMatch(/^made \.skein\/ · /)
  const mode = (path: string) => statSync(join(here.cwd, path)).mode & 0o777
  expect(mode('.skein')).toBe(0o700)
  expect(mode('.skein/conversations.db')).toBe(0o600)
  expect(readFileSync(join(here.cwd, '.skein/.gitignore'), 'utf8')).toBe('*\n')
  const again = await here.skein(['init'])
  expect(again).toMatchObject({ code: 0, stderr: '.skein/ already exists. Nothing was changed\n' })
  const file = join(here.cwd, '.skein/conversations.db')
  const json = JSON.parse((await here.skein(['init', '--json'])).stdout)
  expect(json).toEqual({ folder: join(here.cwd, '.skein'), file, created: false, brought: 0 })
  mkdirSync(join(here.cwd, 'below'))
  const config = JSON.parse((await here.skein(['config', '--json'], { cwd: join(here.cwd, 'below') })).stdout)
  expect(config).toMatchObject({
    store: expect.stringMatching(/\/\.skein\/conversations\.db$/),
    store_from: 'project',
  })
  expect((await here.skein(['init', '--db', 'x.db'])).code).toBe(2)
  expect((await here.skein(['init'], { env: { SKEIN_DB: 'y.db' } })).stderr).toContain('SKEIN_DB is set')
})

describe('init in a project that has conversations elsewhere', () => {
  const filled = async () => {
    const here = home()
    const cwd = realpathSync(here.cwd)
    const sub = join(cwd, 'src')
    mkdirSync(sub)
    await stocked(here, async store => {
      const { conversation, ids } = await tell(
        store,
        { title: 'Root', directory: cwd },
        'The secret word is jam.',
      )
      await tell(
        store,
        { kind: 'subagent', parent: { conversationId: conversation.id, messageId: ids[0]! } },
        'A trace',
      )
      await tell(store, { title: 'Below', directory: sub, key: `cli:work@${sub}` }, 'In a subfolder.')
      await tell(store, { title: 'Elsewhere', directory: '/elsewhere' }, 'Stays.')
    })
    const titles = async (...flags: string[]) => {
      const { stdout } = await here.skein(['ls', '--json=title', ...flags])
      return (JSON.parse(stdout) as { title: string }[]).map(({ title }) => title).sort()
    }
    return { here, cwd, titles }
  }

  test('names the command that moves them, and moves them with --bring', async () => {
    const { here, cwd, titles } = await filled()
    using _ = here
    const made = await here.skein(['init'])
    expect(made.stderr).toMatch(
      /3 conversations of this project are in ~?\/.*conversations\.db · move here: skein init --bring\n$/,
    )
    expect(await titles()).toEqual([])
    const brought = await here.skein(['init', '--bring'])
    expect(brought.code).toBe(0)
    expect(brought.stderr).toMatch(
      /^moved 3 conversations here · the originals are in the trash of .* until \d+ \w+\n$/,
    )
    expect(await titles()).toEqual(['Below', 'Root'])
    const own = join(cwd, '.skein/conversations.db')
    expect((await here.skein(['search', 'jam'])).stdout).toContain('jam')
    expect((await here.skein(['verify'])).code).toBe(0)
    // The key of the subfolder still names its conversation.
    const named = await here.skein(['-m', 'scripted', '--session', 'work', '--json', 'hello'])
    expect(JSON.parse(named.stdout)).toMatchObject({ resumed: 'continued' })
    await stocked(here, async store => {
      const left = (await store.listConversations()).items.map(({ title }) => title)
      expect(left).toEqual(['Elsewhere'])
      expect(await store.countConversations({ trashed: true })).toBe(3)
    })
    expect(existsSync(own)).toBe(true)
    expect((await here.skein(['init', '--bring'])).stderr).toMatch(/^no conversations of this project in /)
  })

  test('asks on a terminal, and moves them only after a yes', async () => {
    for (const [answer, expected] of [
      ['n', []],
      ['y', ['Below', 'Root']],
    ] as const) {
      const { here, titles } = await filled()
      using _ = here
      using screen = terminal(here, ['init'])
      await screen.see(/3 conversations of this project are in [\s\S]*Move here\? y\/N/)
      screen.type(`${answer}\r`)
      await screen.seeNext(
        answer === 'y' ? 'moved 3 conversations here' : 'left there. Move them later: skein init --bring',
      )
      expect(await screen.ended).toBe(0)
      expect(await titles()).toEqual(expected)
    }
  })

  test('leaves a conversation that is being answered', async () => {
    const { here, titles } = await filled()
    using _ = here
    await stocked(here, async store => {
      const [one] = (await store.listConversations({ title: 'Below' })).items
      const holder = { host: 'h', boot: 'b', pid: 1, startedAt: 1 }
      await store.append(one!.branch, one!.branch.head, [{ role: 'user', content: 'And?' }], {
        turn: { key: 't', step: 0, status: 'open', holder },
      })
    })
    const brought = await here.skein(['init', '--bring'])
    expect(brought.code).toBe(1)
    expect(brought.stderr).toContain('stays there: it is being answered')
    expect(await titles()).toEqual(['Root'])
  })
})

test('init restricts an open folder, and refuses a file in its place', async () => {
  using here = home()
  mkdirSync(join(here.cwd, '.skein'), { mode: 0o755 })
  chmodSync(join(here.cwd, '.skein'), 0o755)
  expect((await here.skein(['init', '-q'])).stderr).toBe('')
  expect(statSync(join(here.cwd, '.skein')).mode & 0o777).toBe(0o700)
  writeFileSync(join(here.env.HOME!, '.skein'), 'a file')
  const refused = await here.skein(['init'], { cwd: here.env.HOME! })
  expect(refused.code).toBe(2)
  expect(readFileSync(join(here.env.HOME!, '.skein'), 'utf8')).toBe('a file')
})

test('config prints each value and its source, and never a key', async () => {
  using here = home()
  const yaml = [
    'model: fast',
    `models: { fast: openai/gpt-5-mini, evil: "${hostile.replaceAll(/[^ -~]/gu, '')}\\e[2J" }`,
    'conversation: { max_tokens: 5000, max_age: 30d }',
    'channels: { discord: { expiration: 12h } }',
    `mcp: { web: { url: "https://user:${secret}@example.org/mcp?key=${secret}", headers: { Authorization: ${secret} } } }`,
    `agents: { claude: { command: claude-agent-acp, args: [--key, ${secret}], env: { K: ${secret} } } }`,
  ].join('\n')
  writeFileSync(join(here.cwd, 'skein.yaml'), yaml)
  const env = {
    OPENAI_API_KEY: secret,
    SKEIN_KEEP_RECENT_MESSAGES: '3',
    SKEIN_DB: `postgres://me:${secret}@127.0.0.1/x?password=${secret}`,
  }
  const shown = await here.skein(['config'], { env })
  expect(shown.code).toBe(0)
  const lines = shown.stdout.split('\n')
  for (const line of [
    'model\tfast\t./skein.yaml:1',
    'models.fast\topenai/gpt-5-mini\t./skein.yaml:2',
    'conversation.cleanup_interval\t1h\tdefault',
    'conversation.max_tokens\t5000\t./skein.yaml:3',
    'conversation.keep_recent_messages\t3\tSKEIN_KEEP_RECENT_MESSAGES',
    'conversation.max_age\t30d\t./skein.yaml:3',
    'conversation.load_limit\toff\tdefault',
    'channels.discord.expiration\t12h\t./skein.yaml:4',
    'mcp.web\thttps://example.org/mcp\t./skein.yaml:5',
    'agents.claude\tclaude-agent-acp\t./skein.yaml:6',
    'OPENAI_API_KEY\tset\tenvironment',
    'ANTHROPIC_API_KEY\tnot set\tenvironment',
  ]) {
    expect(lines).toContain(line)
  }
  const json = await here.skein(['config', '--json'], { env })
  const models = await here.skein(['config', 'models'], { env })
  for (const { stdout, stderr } of [shown, json, models]) {
    expect(stdout + stderr).not.toContain(secret)
  }
  expect(shown.stdout + models.stdout).not.toMatch(driving)
  expect(JSON.parse(json.stdout)).toMatchObject({
    files: [join(here.cwd, 'skein.yaml')],
    keys: { OPENAI_API_KEY: true, ANTHROPIC_API_KEY: false },
  })
  expect(models.stdout).toContain('*\tfast\topenai/gpt-5-mini\t272k\t\n')
  expect(models.stdout).toContain('\tsonnet\tanthropic/claude-sonnet-5-5\t1M\tneeds ANTHROPIC_API_KEY\n')
  expect((await here.skein(['config', 'colours'])).code).toBe(2)
})

test('config says how to get a real model without a key, and where a mistake is', async () => {
  using here = home()
  expect((await here.skein(['config'])).stderr).toContain('export ANTHROPIC_API_KEY=')
  writeFileSync(join(here.cwd, 'skein.yaml'), 'conversation:\n  max_tokens: lots\n')
  const wrong = await here.skein(['config'])
  expect(wrong).toMatchObject({ code: 2, stdout: '' })
  expect(wrong.stderr).toBe('skein: ./skein.yaml:2 max_tokens: "lots" is not a number (no default)\n')
})

test('doctor reports what works, what does not, and what to do', async () => {
  using here = home()
  const fresh = await here.skein(['doctor'], { env: { ANTHROPIC_API_KEY: secret } })
  expect(fresh.code).toBe(0)
  expect(fresh.stdout).toMatch(/^✓ node {5}\d+\.\d+\.\d+, Node-API \d+$/m)
  expect(fresh.stdout).toContain(
    '✓ store    ~/.local/share/skein/conversations.db is created with the first message\n',
  )
  expect(fresh.stdout).toContain('✓ keys     ANTHROPIC_API_KEY is set\n')
  expect(fresh.stdout).toContain('no problems found\n')
  expect(existsSync(storeFile(here))).toBe(false)

  await stocked(here, store => tell(store, {}, 'a', 'b'))
  writeFileSync(
    join(here.cwd, 'skein.yaml'),
    'models: { fast: openai/gpt-5.2 }\nconversation: { max_tokens: lots }\n',
  )
  chmodSync(storeFile(here), 0o644)
  const amiss = await here.skein(['doctor'], { env: { ANTHROPIC_API_KEY: secret } })
  expect(amiss.code).toBe(1)
  expect(amiss.stdout).toMatch(/^✓ store {4}~\/\S+conversations\.db · schema \d+ · \S+ .?B · 0644$/m)
  expect(amiss.stdout).toContain('! store    others may read it. To keep it to yourself: chmod 600 ~/')
  expect(amiss.stdout).toContain('✓ verify   all 2 messages are sound\n')
  expect(amiss.stdout).toContain('! keys     ANTHROPIC_API_KEY is set. gpt-5.2 needs OPENAI_API_KEY\n')
  expect(amiss.stdout).toContain(
    '✗ config   ./skein.yaml:2 max_tokens: "lots" is not a number (no default)\n',
  )
  expect(amiss.stdout).toMatch(/1 problem, 2 notes\n$/)
  expect(amiss.stdout + fresh.stdout).not.toContain(secret)
})

test('doctor names the MCP servers and agents that are set, and no value of them', async () => {
  using here = home()
  const value = 'value-of-a-setting'
  const settings = {
    mcp: {
      files: { command: value, args: [value], env: { KEY: value } },
      search: { url: `https://${value}.example/`, headers: { Authorization: value } },
    },
    agents: { reviewer: { model: 'scripted', system: value } },
    acp: { recall: 'off' },
  }
  writeFileSync(join(here.cwd, 'skein.yaml'), JSON.stringify(settings))
  const { stdout, stderr } = await here.skein(['doctor'])
  for (const path of ['mcp.files', 'mcp.search'])
    expect(stdout).toContain(
      `! mcp      ${path} is not started: you have not trusted ./skein.yaml. To trust it: skein config trust\n`,
    )
  expect(stdout).toContain('✓ agents   agents.reviewer is set\n')
  expect(stdout).toContain('✓ acp      acp.recall is set\n')
  expect(stdout + stderr).not.toContain(value)
})

test('doctor finds a damaged message, a file that is not a store, and a newer store', async () => {
  using here = home()
  const { ids } = await stocked(here, store => tell(store, {}, 'a', 'b'))
  const db = new BetterSqlite3(storeFile(here))
  db.prepare('UPDATE skein_messages SET body = ? WHERE id = ?').run('{"blocks":"forged"}', ids[0])
  const damaged = await here.skein(['doctor', '-q'])
  expect(damaged.code).toBe(1)
  expect(damaged.stdout).toContain(
    '✗ verify   1 message damaged among the newest 2. All of them: skein verify\n',
  )
  expect(damaged.stdout).not.toContain('✓')
  db.prepare(`UPDATE skein_state SET value = 99 WHERE name = 'schema'`).run()
  db.close()
  for (const command of ['doctor', 'migrate', 'verify']) {
    const { code, stdout, stderr } = await here.skein([command])
    expect({ command, code }).toEqual({ command, code: 1 })
    expect(stdout + stderr).toContain('schema version 99')
  }
  writeFileSync(join(here.cwd, 'junk.db'), 'this is not a database, and never was one '.repeat(100))
  const junk = JSON.parse((await here.skein(['doctor', '--db', 'junk.db', '--json'])).stdout)
  expect(junk.problems).toBe(1)
  expect(junk.checks).toContainEqual({
    name: 'store',
    status: 'failed',
    message: expect.stringContaining('is not a Skein store, or its header is damaged'),
  })
  expect((await here.skein(['migrate', '--db', 'junk.db'])).code).toBe(1)
})

test('migrate prints the version, and creates no store', async () => {
  using here = home()
  expect((await here.skein(['migrate'])).stderr).toContain('nothing to migrate')
  expect(existsSync(storeFile(here))).toBe(false)
  const schema = await stocked(here, store => store.schemaVersion())
  const said = await here.skein(['migrate'])
  expect(said).toMatchObject({ code: 0, stdout: '' })
  expect(said.stderr).toBe(`~/.local/share/skein/conversations.db · schema ${schema}, up to date\n`)
  expect(JSON.parse((await here.skein(['migrate', '--json'])).stdout)).toEqual({
    store: storeFile(here),
    before: schema,
    schema,
  })
})
