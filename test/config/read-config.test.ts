import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { modelNamed } from '../../src/config/config.ts'
import { parseDuration } from '../../src/config/duration.ts'
import { inspectConfig, readConfig } from '../../src/config/read-config.ts'

/** A home with a project, and files by their path below it. */
function place(files: Readonly<Record<string, string>>) {
  const root = mkdtempSync(join(tmpdir(), 'skein-config-'))
  const cwd = join(root, 'work', 'src')
  mkdirSync(cwd, { recursive: true })
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  const env = { HOME: root }
  return { root, cwd, env, [Symbol.dispose]: () => rmSync(root, { recursive: true }) }
}

async function problemsOf(yaml: string): Promise<readonly string[]> {
  using here = place({ 'work/src/skein.yaml': yaml })
  const { problems } = await inspectConfig(here.cwd, here.env)
  return problems.map(({ message }) => message)
}

test('uses the documented defaults without a file and without variables (S0-49)', async () => {
  using here = place({})
  expect(await readConfig(here.cwd, here.env)).toEqual({
    model: null,
    models: {},
    modelSettings: {},
    providers: {},
    options: {},
    conversation: {
      sessionExpirationMs: 86_400_000,
      expirationFrom: 'activity',
      cleanupIntervalMs: 3_600_000,
      archive: null,
      tokenStrategy: 'sliding_window',
      maxTokens: null,
      keepRecentMessages: 10,
      maxMessages: null,
      maxAgeMs: null,
      loadLimit: null,
      toolResults: 'full',
    },
    channels: {},
    projects: {},
    mcp: {},
    agents: {},
    acp: { tell: 24_000, summarize: false, recall: true },
    tools: { recall: false, allow: [], ask: [] },
    server: {
      listen: { host: '127.0.0.1', port: 4717 },
      publicUrl: null,
      hosts: [],
      maxTurns: 20,
      logLevel: 'warn',
    },
    discord: {
      token: null,
      allow: { servers: [], channels: [], people: [] },
      threadContext: 'fresh',
      onDelete: 'keep',
      maxAgents: 100,
      system: null,
    },
    subagents: {},
    sources: {},
    files: [],
    ignored: [],
    shadowed: [],
  })
})

test('lets the project override the user, and the environment both, setting by setting, with the source of each', async () => {
  using here = place({
    '.config/skein/skein.yaml': [
      'model: slow',
      'models:',
      '  slow: anthropic/claude-opus-4-5',
      '  fast: anthropic/claude-haiku-4-5',
      'conversation:',
      '  max_tokens: 50_000',
      '  max_age: 30d',
      'channels:',
      '  discord: { expiration: 30d }',
      '  cli: { expiration: off }',
    ].join('\n'),
    'work/skein.yml': [
      '# of the project',
      'model: fast',
      'models: { fast: openai/gpt-5-mini }',
      'conversation:',
      '  max_tokens: 80000',
      '  keep_recent_messages: 4',
      'projects: { 42: { conversations: off }, "43": { conversations: on } }',
      'mcp:',
      '  files: { command: npx, args: [-y, server-files, 8], env: { A: b, N: 1 } }',
      '  docs: { url: https://example.org/mcp, headers: { X-Y: z } }',
      'agents:',
      '  claude: { command: claude-agent-acp, cwd: /tmp }',
    ].join('\n'),
  })
  const config = await readConfig(here.cwd, { ...here.env, SKEIN_MAX_TOKENS: '7000', SKEIN_MODEL: ' ' })
  expect(config).toMatchObject({
    model: 'fast',
    models: { slow: 'anthropic/claude-opus-4-5', fast: 'openai/gpt-5-mini' },
    conversation: { maxTokens: 7_000, keepRecentMessages: 4, maxAgeMs: 30 * 86_400_000 },
    channels: { discord: { expirationMs: 30 * 86_400_000 }, cli: { expirationMs: null } },
    projects: { 42: { conversations: false }, 43: { conversations: true } },
    mcp: {
      files: { command: 'npx', args: ['-y', 'server-files', '8'], env: { A: 'b', N: '1' } },
      docs: { url: 'https://example.org/mcp', headers: { 'X-Y': 'z' } },
    },
    agents: {
      claude: { description: null, command: 'claude-agent-acp', args: [], env: {}, cwd: '/tmp' },
    },
  })
  const [users, project] = config.files
  expect(users).toBe(join(here.root, '.config/skein/skein.yaml'))
  expect(project).toBe(join(here.root, 'work/skein.yml'))
  expect(config.sources).toMatchObject({
    model: { kind: 'file', file: project, line: 2 },
    'models.slow': { kind: 'file', file: users, line: 3 },
    'models.fast': { kind: 'file', file: project, line: 3 },
    'conversation.max_age': { kind: 'file', file: users, line: 7 },
    'conversation.max_tokens': { kind: 'environment', variable: 'SKEIN_MAX_TOKENS' },
    'mcp.files': { kind: 'file', file: project, line: 9 },
  })
  expect(modelNamed(config, 'slow')).toBe('anthropic/claude-opus-4-5')
  expect(modelNamed(config, 'toString')).toBe('toString')
})

test('reports all problems at once, with file, line, value and default', async () => {
  const yaml = [
    'model: 7',
    'conversation:',
    '  max_tokens: "lots"',
    '  keep_recent_messages: -1',
    '  token_strategy: forget',
    '  session_expiration: 24',
    '  max_token: 5',
    'projects: { a: { conversations: maybe } }',
    'mcp: { x: { args: [1] }, y: { url: ftp://a }, z: 3 }',
    'servers: {}',
    'models: [a]',
  ].join('\n')
  expect(await problemsOf(yaml)).toEqual([
    './skein.yaml:1 model: 7 is not text (default the built-in one)',
    './skein.yaml:3 max_tokens: "lots" is not a number (no default)',
    './skein.yaml:4 keep_recent_messages: -1 is not a whole number above 0 (default 10)',
    './skein.yaml:5 token_strategy: "forget" is none of sliding_window, summarization (default sliding_window)',
    './skein.yaml:6 session_expiration: 24 is not a duration, such as 24h, 30d or 90m (default 24h)',
    './skein.yaml:7 max_token: unknown setting. Did you mean max_tokens? Known here: session_expiration, expiration_from, cleanup_interval, archive, token_strategy, max_tokens, keep_recent_messages, max_messages, max_age, load_limit, tool_results',
    './skein.yaml:8 conversations: "maybe" is neither on nor off (default on)',
    './skein.yaml:9 mcp.z: is not a mapping of names to values',
    './skein.yaml:9 mcp.x: needs command',
    './skein.yaml:9 url: "ftp://a" is not a URL: it must begin with http:// or https://',
    './skein.yaml:9 mcp.z: needs command',
    './skein.yaml:10 servers: unknown setting. Did you mean server? Known here: model, providers, models, options, conversation, channels, projects, mcp, agents, acp, tools, subagents, server, discord',
    './skein.yaml:11 models: is not a mapping of names to values',
  ])
})

test('refuses invalid YAML and alias bombs, with the line', async () => {
  expect(await problemsOf('model: scripted\nmodels: {a: [')).toEqual([
    expect.stringMatching(/^\.\/skein\.yaml:\d+: is not valid YAML: /),
  ])
  expect((await problemsOf('model: a\nmodel: b'))[0]).toMatch(/^\.\/skein\.yaml:2: is not valid YAML: /)
  const bomb = [
    'a: &a [x, x]',
    ...'bcdefghi'.split('').map((c, i) => `${c}: &${c} [${Array(9).fill(`*${'abcdefgh'[i]}`)}]`),
  ]
  expect(await problemsOf(bomb.join('\n'))).toEqual([expect.stringMatching(/has too many values$/)])
  expect(await problemsOf('')).toEqual([])
  using here = place({ 'work/src/skein.yaml': 'model: 7' })
  await expect(readConfig(here.cwd, here.env)).rejects.toThrow('./skein.yaml:1 model')
  const { problems } = await inspectConfig(dirname(here.cwd), { ...here.env, SKEIN_MAX_AGE: 'long' })
  expect(problems.map(({ message }) => message)).toEqual([
    'SKEIN_MAX_AGE: "long" is not a duration, such as 24h, 30d or 90m (default off)',
  ])
})

test('parses durations with units', () => {
  expect(['30d', '24h', '90m', '1.5h', '2w', '250ms', ' 10 s '].map(parseDuration)).toEqual([
    2_592_000_000, 86_400_000, 5_400_000, 5_400_000, 1_209_600_000, 250, 10_000,
  ])
  expect(['', '30', 'd', '-1d', '1e3d', '1d2h', '30 days', `${'9'.repeat(30)}w`].map(parseDuration)).toEqual(
    Array(8).fill(null),
  )
})
