import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { widthOf } from '../../../src/cli/output/cut.ts'
import { styleFor } from '../../../src/cli/output/style.ts'
import { type ListRow, listLines } from '../../../src/cli/read/ls.ts'
import { openStore } from '../../../src/stores/open.ts'
import { home } from '../skein.ts'
import { terminal } from '../terminal.ts'
import { drivesTerminal, tellStories } from './stories.ts'

const plain = styleFor({ isTerminal: true, env: { LANG: 'C.UTF-8' }, noColor: true })

describe('the lines of ls', () => {
  const now = new Date(2026, 10, 16, 12).getTime()
  const row = (args: Partial<ListRow>): ListRow => ({
    id: 'a7xk5f',
    isNext: false,
    isLive: false,
    title: 'Reconnect storm after the certificate reload',
    directory: null,
    lastWords: 'Retrying with the seeded clock. The jitter test now asks for a delay.',
    at: new Date(now),
    messages: 58,
    branches: 3,
    model: 'anthropic/claude-sonnet-4-5',
    ...args,
  })
  const rows = [
    row({ id: 'hq3m5a', title: 'Flaky test hunt', at: new Date(2026, 10, 9), messages: 1340, model: null }),
    row({ isNext: true, isLive: true, title: '漢字 Reconnect storm after the certificate reload' }),
  ]

  test.each([40, 43, 44, 47, 48, 50, 56, 64, 80, 100, 120])('fit %d columns', width => {
    for (const line of listLines(rows, width, now, plain)) expect(widthOf(line)).toBeLessThanOrEqual(width)
  })

  test('are a table with id, title, age, counts and model', () =>
    expect(listLines(rows, 80, now, plain)).toEqual([
      '  ID      TITLE                                       AGE   MSGS  BR  MODEL',
      '  hq3m5a  Flaky test hunt                           9 Nov  1,340   3',
      '*+a7xk5f  漢字 Reconnect storm after the certifi…     now     58   3  sonnet-4.5',
    ]))

  test('are two per conversation if there is no room for a table', () =>
    expect(listLines(rows.slice(1), 40, now, plain)).toEqual([
      '*+a7xk5f  now · 58',
      '  漢字 Reconnect storm after the certif…',
    ]))

  const everywhere = [
    row({ directory: '~/src/harbor/services/gateway/certificates' }),
    row({ directory: '' }),
  ]

  test('name the directory in a list over all directories', () => {
    expect(listLines(everywhere, 80, now, plain)).toEqual([
      '  ID      TITLE                      DIRECTORY                    AGE   MSGS  BR',
      '  a7xk5f  Reconnect storm after th…  ~/src/harbo…certificates     now     58   3',
      '  a7xk5f  Reconnect storm after th…                               now     58   3',
    ])
    expect(listLines(everywhere, 40, now, plain)[2]).toBe('  ~/src/harbor/servi…ateway/certificates')
    for (const width of [40, 43, 44, 50, 56, 64, 80, 100, 120, 140])
      for (const line of listLines(everywhere, width, now, plain))
        expect(widthOf(line)).toBeLessThanOrEqual(width)
  })

  test.each([
    [120, ['ID', 'TITLE', 'LAST WORDS', 'AGE', 'MSGS', 'BR', 'MODEL']],
    [99, ['ID', 'TITLE', 'AGE', 'MSGS', 'BR', 'MODEL']],
    [63, ['ID', 'TITLE', 'AGE', 'MSGS', 'BR']],
    [55, ['ID', 'TITLE', 'AGE', 'MSGS']],
    [49, ['ID', 'TITLE', 'AGE']],
  ])('have at %d columns the fields %j', (width, headers) =>
    expect(listLines(rows, width, now, plain)[0]!.trim().split(/ {2,}/)).toEqual(headers),
  )
})

const here = home()
const story = await tellStories(here)
afterAll(() => here[Symbol.dispose]())

describe('skein ls', () => {
  test('prints tab-separated lines in a pipe, newest first, with nothing cut', async () => {
    const { stdout, stderr, code } = await here.skein(['ls'])
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map(line => line.split('\t'))
    expect(lines.map(([id]) => id)).toEqual([story.storm, story.other])
    const [, title, time, messages, branches, model, branch, directory] = lines[0]!
    expect(title).toBe('Reconnect storm after the certificate reload')
    expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    expect([messages, branches, model, branch]).toEqual([
      '6',
      '2',
      'anthropic/claude-sonnet-4-5',
      'full-jitter',
    ])
    expect(directory).toBe(here.cwd)
    expect(lines[1]).toHaveLength(8)
    expect(drivesTerminal(stdout.replaceAll('\t', ''))).toBe(false)
    expect([stderr, code]).toEqual(['', 0])
  })

  test('prints full ids, ISO times, null for absent values and the stored text as JSON', async () => {
    const { stdout } = await here.skein(['sessions', 'list', '--json'])
    const [storm, other] = JSON.parse(stdout)
    expect(storm).toMatchObject({
      id: story.storm,
      key: null,
      directory: here.cwd,
      channel: 'cli',
      agent: null,
      labels: [],
      active_branch: 'full-jitter',
      path_messages: 6,
      messages: 8,
      branches: 2,
      cost_usd: 0.05,
      expires_at: null,
      live: false,
      first: { id: story.said.why, text: 'Staging drops every websocket at 02:00. Why?' },
      last: { id: story.said.both, role: 'assistant', text: 'Both tests read the wall' },
    })
    expect(other.labels).toEqual(['work'])
    expect(other.title).toContain('\x1b[41m')
  })

  test.each([
    ['--all', ['storm', 'other', 'elsewhere']],
    ['--title=STORM', ['storm']],
    ['--tag=work', ['other']],
    ['--channel=cli', ['storm']],
    ['--project=none', []],
    ['--task=none', []],
    ['--traces', ['trace']],
    ['--trash', ['trashed']],
    ['-l1', ['storm']],
    ['--label=nothing', []],
    ['--traces --label=load-test', ['trace']],
    ['--traces --label=load-test/7', ['trace']],
    ['--traces --label=subagent:load', ['trace']],
    ['--traces --label=load', []],
    ['--traces --label=load-test/8', []],
  ] as const)('%s changes the selection', async (flags, names) => {
    const { stdout } = await here.skein(['ls', ...flags.split(' '), '--json'])
    expect(
      JSON.parse(stdout)
        .map((one: { id: string }) => one.id)
        .sort(),
    ).toEqual(names.map(name => story[name]).sort())
  })

  test.each([
    [['ls', '-l', '0'], '-l takes a number from 1 to 10000, not "0"'],
    [['ls', '-l', 'many'], '-l takes a number'],
    [['ls', '--trash', '--traces'], '--trash and --traces contradict each other. Drop one'],
    [['ls', '--metadata', 'novalue'], '--metadata takes key=value, not "novalue"'],
    [['ls', 'word'], 'ls does not know what to do with "word"'],
  ])('%j is a usage error', async (args, words) => {
    const { stdout, stderr, code } = await here.skein(args)
    expect([stdout, code]).toEqual(['', 2])
    expect(stderr).toContain(words)
  })

  test('lists the newest last on a terminal, marks the one to continue, and counts hidden ones', async () => {
    using shown = terminal(here, ['ls'])
    expect(await shown.ended).toBe(0)
    const lines = shown.screen().trimEnd().split('\n')
    expect(lines[0]).toMatch(/^ {2}ID {6}TITLE/)
    expect(lines[1]).toMatch(/^ {2}\S{6} {2}Hostile red ␛\[41m/)
    expect(lines[2]).toMatch(/^\* \S{6} {2}Reconnect storm.* now {6}6 {3}2 {2}sonnet-4\.5$/)
    expect(lines[3]).toBe('2 in this directory · --all: 3 · --traces: 1')
    expect(drivesTerminal(shown.raw)).toBe(false)
  })

  test('prints no notes with --quiet', async () => {
    using shown = terminal(here, ['ls', '-q', '-l', '1'])
    await shown.ended
    expect(shown.screen()).not.toContain('in this directory')
  })

  test('says in an empty directory that there is nothing, and how many --all would list', async () => {
    const { stdout, stderr, code } = await here.skein(['ls'], { cwd: '/' })
    expect([stdout, code]).toEqual(['', 0])
    expect(stderr).toBe('no conversations in this directory · --all: 3\n')
  })

  test.each([
    [['--tag', 'nope'], 'no conversations with tag nope in this directory · without the filter: 2\n'],
    [
      ['--task', 'x', '--title', 'y'],
      'no conversations with "y" in the title, of task x in this directory · without the filter: 2\n',
    ],
    [['--metadata', 'a=1'], 'no conversations with metadata a=1 in this directory · without the filter: 2\n'],
    [['--traces', '--label', 'x'], 'no traces with label x in this directory · without the filter: 1\n'],
  ])('says that no conversation matches %j', async (args, words) => {
    const { stdout, stderr, code } = await here.skein(['ls', ...args])
    expect([stdout, code]).toEqual(['', 0])
    expect(stderr.replace(/\s+/g, ' ').trim()).toBe(words.trim())
  })
})

test('names the label that is called like a tag', async () => {
  using here = home()
  await here.skein(['-q', 'hello'])
  const [{ id }] = JSON.parse((await here.skein(['ls', '--json'])).stdout)
  await here.skein(['label', id, 'topic'])
  const { stderr } = await here.skein(['ls', '--tag', 'topic'])
  expect(stderr.replace(/\s+/g, ' ')).toBe(
    'no conversations with tag topic in this directory · without the filter: 1 · --label topic: 1 ',
  )
  await here.skein(['tag', id, 'topic'])
  expect((await here.skein(['ls', '--tag', 'topic'])).stdout).toContain(id)
})

test('skein ls lists all conversations of a project, and marks live ones with +', async () => {
  using here = home()
  await using store = await openStore(join(here.cwd, '.skein', 'conversations.db'))
  await store.create({ directory: '/somewhere', title: 'From a task' })
  const { branch } = await store.create({ directory: here.cwd, title: 'Live one' })
  const holder = { host: 'h', boot: 'b', pid: 1, startedAt: 1 }
  await store.append(branch, null, [{ role: 'user', content: 'hi' }], {
    turn: { key: 't', step: 0, status: 'open', holder },
  })
  using shown = terminal(here, ['ls'], { columns: 40 })
  await shown.ended
  const lines = shown.screen().trimEnd().split('\n')
  expect(lines.slice(1, 2)).toEqual(['  From a task'])
  expect(lines[2]).toMatch(/^\*\+\S{6} {2}now · 1$/)
  expect(lines.slice(3)).toEqual(['  Live one', '2 in this project'])
  const { stdout } = await here.skein(['ls', '--json'])
  expect(JSON.parse(stdout).map((one: { live: boolean }) => one.live)).toEqual([true, false])
})

test('reading commands create no file', async () => {
  using here = home()
  const { stdout, stderr, code } = await here.skein(['ls'])
  expect([stdout, code]).toEqual(['', 0])
  expect(stderr).toBe('no conversations in this directory · begin one: skein "…"\n')
  const json = await here.skein(['ls', '--json', '--db', 'nowhere.db'])
  expect([json.stdout, json.code]).toEqual(['[]\n', 0])
  expect(existsSync(`${here.env.XDG_DATA_HOME}/skein`)).toBe(false)
  expect(existsSync(`${here.cwd}/nowhere.db`)).toBe(false)
})
