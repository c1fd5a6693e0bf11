import { afterAll, describe, expect, test } from 'vitest'
import { shortIds } from '../../../src/cli/output/short-id.ts'
import { styleFor } from '../../../src/cli/output/style.ts'
import { formatTime } from '../../../src/cli/output/time.ts'
import { newestByRoot } from '../../../src/cli/read/tree.ts'
import {
  branchLines,
  compactLines,
  foldStretches,
  treeLines,
  treeMessage,
} from '../../../src/cli/read/tree-lines.ts'
import type { MessageId } from '../../../src/core/ids.ts'
import { collectPages } from '../../../src/core/pages.ts'
import { buildForest } from '../../../src/core/tree.ts'
import { openStore } from '../../../src/stores/open.ts'
import { home } from '../skein.ts'
import { stocked } from '../stock.ts'
import { terminal } from '../terminal.ts'
import { drivesTerminal, fill, type Story, tellStories } from './stories.ts'

const plain = styleFor({ isTerminal: false, env: {}, noColor: true })

describe('the lines of a tree', () => {
  test('have id, local time, role and a snippet, indented by 4, and mark the end of each branch (S3-60 … S3-64)', async () => {
    await using store = await openStore(':memory:')
    const story = await fill(store, '/work', new Date(2026, 10, 16, 12).getTime())
    const { items } = await store.listMessages({ conversationId: story.storm, order: 'ascending' })
    const short = shortIds(items.map(message => message.id as string))
    const id = (name: keyof Story['said']) => short.get(story.said[name])
    expect([
      ...treeLines(buildForest(items.map(one => treeMessage(one))), { width: 72, style: plain, short }),
    ]).toEqual([
      `${id('why')} (2026-11-15 06:00) [USER] Staging drops every websocket at 02:...`,
      `    ${id('because')} (2026-11-15 06:06) [ASSISTANT] The certificate reload. ser...`,
      `        ${id('poll')} (2026-11-15 16:00) [USER] Poll instead of push?`,
      `            ${id('polling')} (2026-11-15 16:06) [ASSISTANT] Polling every 15 s...`,
      `            ------`,
      `        ${id('jitter')} (2026-11-16 10:00) [USER] Use full jitter with a 30 s...`,
      `            ${id('changes')} (2026-11-16 10:06) [ASSISTANT] Two changes: the se...`,
      `                ${id('failed')} (2026-11-16 10:12) [TOOL_RESULT] 41 run 2 of 4...`,
      `                    ${id('both')} (2026-11-16 10:18) [ASSISTANT] Both tests...`,
      `                    ------`,
    ])
  })

  test('print the most recently active branch last, whatever was stored last (S3-64)', async () => {
    await using store = await openStore(':memory:')
    const { conversation } = await store.create()
    const said = (text: string, day: number, parent: number | null) => ({
      message: { role: 'user', content: text, createdAt: new Date(2026, 0, day) } as const,
      parent: parent === null ? null : { item: parent },
    })
    await store.save(conversation.id, [
      said('new tree', 1, null),
      said('new branch', 2, 0),
      said('newest', 9, 1),
      said('old branch', 3, 0),
      said('old tree', 4, null),
    ])
    const { items } = await store.listMessages({ conversationId: conversation.id })
    const look = { width: 80, style: plain, short: new Map() }
    const lines = [...treeLines(buildForest(items.map(one => treeMessage(one))), look)].filter(
      line => !line.endsWith('------'),
    )
    expect(lines.map(line => line.replace(/.*\] /, ''))).toEqual([
      'old tree',
      'new tree',
      'old branch',
      'new branch',
      'newest',
    ])
    expect((await newestByRoot(store, conversation.id)).size).toBe(2)
    expect([...(await newestByRoot(store, conversation.id)).values()].sort()).toEqual([
      new Date(2026, 0, 4).getTime(),
      new Date(2026, 0, 9).getTime(),
    ])
  })

  test('show at least 12 characters, however deep they are indented', async () => {
    await using store = await openStore(':memory:')
    const { branch } = await store.create()
    const said = Array.from(
      { length: 30 },
      () => ({ role: 'user', content: 'No problem! What about Python?' }) as const,
    )
    await store.append(branch, null, said as never)
    const { items } = await store.listMessages({ conversationId: branch.conversationId, limit: 100 })
    const lines = [
      ...treeLines(buildForest(items.map(one => treeMessage(one))), {
        width: 80,
        style: plain,
        short: new Map(),
      }),
    ]
    expect(lines).toHaveLength(31)
    expect(lines.at(-2)).toMatch(/^ {116}\S+ \(.*\) \[USER\] No proble\.\.\.$/)
    expect(lines.at(-1)).toBe(`${' '.repeat(116)}------`)
  })

  test('leave the time out for people with a narrow terminal, and nothing else does', async () => {
    await using store = await openStore(':memory:')
    const story = await fill(store, '/work', Date.now())
    const { items } = await store.listMessages({ conversationId: story.storm })
    const forest = buildForest(items.map(message => treeMessage(message)))
    const look = { width: 40, style: plain, short: shortIds(items.map(({ id }) => id)) }
    const lines = [...branchLines(forest, look)]
    expect(lines.filter(line => line.length > 40)).toEqual([])
    expect(lines[0]).toMatch(/^\w{6} \[USER\] Staging drops every w/)
    expect([...treeLines(forest, look)][0]).toMatch(/^\w{6} \(.*\) \[USER\] Staging d\.\.\.$/)
  })

  test('are reduced to the forks with --compact', async () => {
    await using store = await openStore(':memory:')
    const story = await fill(store, '/work', Date.now())
    const runs = await collectPages(page => store.listStretches(story.storm, page))
    const { items } = await store.listMessages({ conversationId: story.storm })
    const messages = new Map(items.map(message => [message.id as string, treeMessage(message)]))
    const look = { width: 200, style: plain, short: shortIds([...messages.keys()]) }
    const lines = [...compactLines(buildForest(foldStretches(runs, messages)), look)]
    expect(lines.map(line => line.replace(/\S+ \(.*?\) /, ''))).toEqual([
      '[USER] Staging drops every websocket at 02:00. Why?',
      '    [ASSISTANT] The certificate reload. server.reload() And then: make storm',
      '        [USER] Poll instead of push?',
      '            [ASSISTANT] Polling every 15 s costs 4,000 requests.',
      '            ------',
      '        [USER] Use full jitter with a 30 s cap.',
      '            ... 2 messages ...',
      '                [ASSISTANT] Both tests read the wall',
      '                ------',
    ])
  })
})

const here = home()
const story = await tellStories(here)
afterAll(() => here[Symbol.dispose]())

describe('skein tree', () => {
  test('prints every tree of the directory, the most recently active last, also under its older names', async () => {
    const [tree, list, ls] = await Promise.all([
      here.skein(['tree']),
      here.skein(['conversation', 'list']),
      here.skein(['convo', 'ls']),
    ])
    expect([list.stdout, ls.stdout]).toEqual([tree.stdout, tree.stdout])
    const roots = tree.stdout.split('\n').filter(line => /^[a-z2-7]/.test(line))
    expect(roots).toHaveLength(2)
    expect(roots[0]).toContain('[USER] red ␛[41m␛]0;pwned')
    expect(roots[1]).toContain('[USER] Staging drops every websocket')
    expect(drivesTerminal(tree.stdout)).toBe(false)
    expect(tree.stdout).not.toContain('load test')
  })

  test('indents only the branches on a terminal, and not the branch that was active last', async () => {
    using shown = terminal(here, ['tree', story.storm], { columns: 80, env: { NO_COLOR: '1' } })
    await shown.ended
    const lines = shown.raw.replaceAll('\r\n', '\n').trimEnd().split('\n')
    expect(lines.map(line => line.replace(/\S+ \(.*?\) /, '').replace(/(\] .{20}).*/, '$1'))).toEqual([
      '[USER] Staging drops every ',
      '[ASSISTANT] The certificate relo',
      '    [USER] Poll instead of push',
      '    [ASSISTANT] Polling every 15 s c',
      '    ------',
      '[USER] Use full jitter with',
      '[ASSISTANT] Two changes: the ser',
      '[TOOL_RESULT] 41 run 2 of 41 faile',
      '[ASSISTANT] Both tests read the ',
      '------',
    ])
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(80)
  })

  test('prints the exact form of S3-60 to S3-64 on a terminal as conversation list', async () => {
    const { stdout } = await here.skein(['tree', story.storm])
    for (const name of [
      ['conversation', 'list'],
      ['convo', 'ls'],
    ]) {
      using shown = terminal(here, [...name, story.storm], { columns: 80, env: { NO_COLOR: '1' } })
      await shown.ended
      expect(shown.raw.replaceAll('\r\n', '\n')).toBe(stdout)
    }
  })

  test('names the conversation of each tree on a terminal, and its directory with --all', async () => {
    using own = terminal(here, ['tree'], { env: { NO_COLOR: '1', PAGER: 'cat' } })
    await own.ended
    expect(own.screen()).toContain(
      `Reconnect storm after the certificate reload · ${story.storm.slice(0, 6)}\n`,
    )
    using all = terminal(here, ['tree', '--all'], { env: { NO_COLOR: '1', PAGER: 'cat' } })
    await all.ended
    expect(all.screen()).toMatch(
      new RegExp(`^Reconnect storm.* · ${story.storm.slice(0, 6)} · \\S*work$`, 'm'),
    )
  })

  test('prints all directories with --all, and subagent runs with --traces', async () => {
    const [all, traces] = await Promise.all([here.skein(['tree', '--all']), here.skein(['tree', '--traces'])])
    expect(all.stdout).toContain('a secure context elsewhere')
    expect(traces.stdout).toContain('load test')
  })

  test('prints the subtree of a message', async () => {
    const { stdout } = await here.skein(['tree', story.said.poll.slice(0, 8)])
    const lines = stdout.trimEnd().split('\n')
    expect(lines).toHaveLength(3)
    expect(lines[0]).toMatch(/^\S+ \(.*\) \[USER\] Poll instead of push\?$/)
    expect(lines[2]).toBe('    ------')
  })

  test('prints a flat list with parents as JSON', async () => {
    const { stdout } = await here.skein(['tree', story.storm, '--json'])
    const list = JSON.parse(stdout)
    expect(list).toHaveLength(8)
    expect(list[0]).toMatchObject({
      id: story.said.why,
      parent: null,
      conversation: story.storm,
      role: 'user',
    })
  })

  test.each([
    [['tree', '--compact', '--json'], '--compact and --json contradict each other', 2],
    [['tree', 'abcdef', '--all'], 'contradict', 2],
    [['tree', 'zzzzzz'], 'matches zzzzzz', 3],
    [['tree', 'abc'], '"abc" is too short: ids need at least 6 characters', 3],
  ])('%j fails with a message', async (args, words, expected) => {
    const { stdout, stderr, code } = await here.skein(args)
    expect([stdout, code]).toEqual(['', expected])
    expect(stderr).toContain(words)
  })

  test('says that there is nothing in an empty directory', async () => {
    const { stdout, stderr, code } = await here.skein(['tree'], { cwd: '/' })
    expect([stdout, stderr, code]).toEqual(['', 'no conversations in this directory\n', 0])
  })

  test('prints 4,000 messages with 400 retries in lines that fit the terminal', async () => {
    using long = home()
    const id = await stocked(long, async store => {
      const { conversation, branch } = await store.create({ title: 'Long' })
      let head: MessageId | null = null
      for (let round = 0; round < 400; round++) {
        const messages = Array.from({ length: 9 }, (_, i) => ({
          role: i % 2 === 0 ? ('user' as const) : ('assistant' as const),
          content: `message ${round}.${i} ${'and more '.repeat(10)}`,
        }))
        head = (await store.append(branch, head, messages)).head
        const [last] = await store.getMessages([head])
        // A second answer to the last question: a fork, whose other branch continues.
        await store.save(conversation.id, [{ message: messages[1]!, parent: last!.parentId }])
      }
      return conversation.id
    })
    using shown = terminal(long, ['tree', id], { env: { NO_COLOR: '1', PAGER: 'cat' }, patienceMs: 60_000 })
    expect(await shown.ended).toBe(0)
    const lines = shown.raw.trimEnd().split('\r\n')
    expect(lines).toHaveLength(4_000 + 401)
    expect(Math.max(...lines.map(line => line.length))).toBeLessThanOrEqual(80)
    expect(lines.filter(line => /^ {5}/.test(line))).toEqual([])
    // Control: the form for programs indents every message.
    const exact = await long.skein(['tree', id])
    expect(exact.stdout.length).toBeGreaterThan(20 * shown.raw.length)
  })

  test('opens the pager at the newest message', async () => {
    using shown = terminal(here, ['tree', story.storm], { rows: 6, env: { NO_COLOR: '1' } })
    await shown.see('Both tests read')
    expect(shown.screen()).not.toContain('Staging drops every')
    shown.type('q')
    expect(await shown.ended).toBe(0)
  })

  test('uses the local time zone', async () => {
    const { stdout } = await here.skein(['tree', story.said.both], { env: { TZ: 'UTC' } })
    expect(stdout).not.toContain(formatTime(new Date(0)))
    const here2 = await here.skein(['tree', story.said.both], { env: { TZ: 'Asia/Tokyo' } })
    expect(here2.stdout).not.toBe(stdout)
  })
})
