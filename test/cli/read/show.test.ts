import { existsSync } from 'node:fs'
import { afterAll, describe, expect, test } from 'vitest'
import { widthOf } from '../../../src/cli/output/cut.ts'
import { shortIds } from '../../../src/cli/output/short-id.ts'
import { styleFor } from '../../../src/cli/output/style.ts'
import { toolLine } from '../../../src/cli/output/tool-line.ts'
import { showLines } from '../../../src/cli/read/show-lines.ts'
import { showMarkdown } from '../../../src/cli/read/show-markdown.ts'
import { readShownPath } from '../../../src/cli/read/shown-path.ts'
import { findForks } from '../../../src/core/branch-forks.ts'
import { collectPages } from '../../../src/core/pages.ts'
import { pathOf } from '../../../src/core/path.ts'
import type { BranchInConversation, Store } from '../../../src/core/ports.ts'
import { openStore } from '../../../src/stores/open.ts'
import { home } from '../skein.ts'
import { terminal } from '../terminal.ts'
import { drivesTerminal, fill, tellStories } from './stories.ts'

const plain = styleFor({ isTerminal: true, env: { LANG: 'C.UTF-8' }, noColor: true })
const now = new Date(2026, 10, 16, 12).getTime()

async function listOf(lines: AsyncIterable<string>): Promise<readonly string[]> {
  const list: string[] = []
  for await (const line of lines) list.push(line)
  return list
}

describe('the lines of show', () => {
  const linesAt = async (width: number, full = false) => {
    await using store = await openStore(':memory:')
    const story = await fill(store, '/home/ada/harbor', now)
    const shown = await readShownPath(store, await store.resolve(story.storm))
    const path = await pathOf(store, shown.end!.id)
    const ids = [...path.map(message => message.id as string), story.storm, story.trace]
    const known = shortIds(ids)
    const short = (id: string) => known.get(id) ?? id
    const look = { width, style: plain, full, short, command: 'skein', env: { HOME: '/home/ada' }, now }
    const lines = await listOf(showLines(shown, shown.parts(), look))
    const named = Object.entries({ ...story.said, storm: story.storm, trace: story.trace }).map(
      ([name, id]) => [short(id), name] as const,
    )
    return lines.map(line => named.reduce((text, [id, name]) => text.replaceAll(id, name), line))
  }

  test('show author, time and text, with one line per tool call', async () => {
    expect(await linesAt(80)).toEqual([
      'Reconnect storm after the certificate reload',
      'storm · full-jitter · 6 messages · ~/harbor · 142k tokens · $0.05',
      '',
      'You  2026-11-15 06:00  why',
      'Staging drops every websocket at 02:00. Why?',
      '',
      'sonnet-4.5  2026-11-15 06:06  because  66k in, 1.2k out, $0.05',
      '  thinking  Replacing the secure context does not close open sockets.',
      'The certificate reload.',
      '',
      '```ts',
      'server.reload()',
      '```',
      '',
      'And then:',
      '',
      '~~~sh',
      'make storm',
      '~~~',
      '',
      '─── summary for 2 messages, why to because · 610 tokens · haiku-4.5 ───',
      'You  2026-11-16 10:00  jitter  (2 of 2: main, full-jitter)',
      'Use full jitter with a 30 s cap.',
      '',
      'sonnet-4.5  2026-11-16 10:06  changes',
      'Two changes: the server swaps its secure context in place.',
      '✗ bash  npm test -- reconnect · 41 run',
      '  load-test (subagent) · 1 message · skein show trace',
      expect.stringMatching(
        /^sonnet-4\.5 {2}2026-11-16 10:18 {2}both {2}74k in, 300 out {2}! interrupted after \d+ m?s$/,
      ),
      'Both tests read the wall',
      '',
    ])
  })

  test('include tools, thinking and summaries with --full', async () => {
    const lines = await linesAt(80, true)
    expect(lines).toContain('    2 of 41 failed')
    expect(lines).toContain('      "command": "npm test -- reconnect"')
    expect(lines).toContain('    A storm.')
    expect(lines).toContain('    thinking')
  })

  test('break the facts of a conversation only between them', async () => {
    expect((await linesAt(62)).slice(0, 3)).toEqual([
      'Reconnect storm after the certificate reload',
      'storm · full-jitter · 6 messages · ~/harbor · 142k tokens',
      '$0.05',
    ])
    expect((await linesAt(44)).slice(1, 3)).toEqual([
      'storm · full-jitter · 6 messages · ~/harbor',
      '142k tokens · $0.05',
    ])
  })

  test.each([44, 64, 80, 100, 120])('fit %d columns, except for headings', async width => {
    for (const line of await linesAt(width)) {
      if (!/\d{4}-\d\d-\d\d \d\d:\d\d|^storm|subagent|summary/.test(line))
        expect(widthOf(line)).toBeLessThanOrEqual(width)
    }
  })
})

describe('the contents of a path', () => {
  const shownOf = async (fillIn: (store: Store, place: BranchInConversation) => Promise<unknown>) => {
    await using store = await openStore(':memory:')
    const place = await store.create({ title: 'All kinds' })
    await fillIn(store, place)
    const shown = await readShownPath(store, await store.resolve(place.conversation.id))
    const look = {
      width: 80,
      style: plain,
      full: false,
      short: (id: string) => id,
      command: 'skein',
      env: {},
      now: Date.now(),
    }
    const markdown = (await listOf(showMarkdown(shown, shown.parts(), look))).join('\n')
    return { lines: (await listOf(showLines(shown, shown.parts(), look))).join('\n'), markdown }
  }

  test('include media, results without a call, system prompts and unknown blocks', async () => {
    const { lines, markdown } = await shownOf((store, { branch }) =>
      store.append(branch, null, [
        { role: 'system', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'image', mime: 'image/png', data: 'AAAA'.repeat(300), name: 'storm.png' },
            { type: 'hologram', size: 3 },
          ],
        },
        {
          role: 'tool_result',
          content: [{ type: 'tool_result', callId: 'lost', name: 'grep', output: 'found' }],
        },
      ]),
    )
    expect(lines).toContain('  storm.png · image/png · 900 B')
    expect(lines).toContain('  (hologram)')
    expect(lines).toContain('  grep · found')
    expect(lines).toMatch(/^System {2}/m)
    expect(markdown).toContain('- image: storm.png, image/png')
    expect(markdown).toContain('- (hologram)')
    expect(markdown).toContain('- grep · found')
  })

  test('show only that a message is erased', async () => {
    const { lines, markdown } = await shownOf(async (store, { branch }) => {
      const { ids } = await store.append(branch, null, [{ role: 'user', content: 'my secret' }])
      await store.eraseMessages(ids, { by: 'ada', reason: 'asked to' })
    })
    expect(lines).toMatch(/^\(erased by ada on .*: asked to\)$/m)
    expect(markdown).toContain('(erased: asked to)')
    expect(lines + markdown).not.toContain('secret')
  })

  test('include the draft of an unfinished answer', async () => {
    const { lines, markdown } = await shownOf(async (store, { conversation, branch }) => {
      const holder = { host: 'h', boot: 'b', pid: 1, startedAt: 1 }
      const turn = { key: 't', step: 0, status: 'open', holder, model: 'gpt-5.2' } as const
      await store.append(branch, null, [{ role: 'user', content: 'Continue' }], { turn })
      await store.putDraft(conversation.id, 't', holder, [{ n: 0, type: 'text', text: 'Arriving \x1b[2J' }])
    })
    expect(lines).toMatch(/gpt-5\.2 {2}\+ live\nArriving ␛\[2J\n/)
    expect(markdown).toContain('Arriving ␛[2J')
  })

  test('may be empty', async () => {
    const { lines, markdown } = await shownOf(async () => undefined)
    expect(lines).toMatch(/^All kinds\n.* · main · 0 messages\n$/)
    expect(markdown).toBe('# All kinds')
  })
})

describe('the line of a tool', () => {
  test.each([
    [{ command: 'ls -l' }, 'one\ntwo', '  bash  ls -l · 2 lines'],
    [{ path: 'a.ts', text: 'x' }, 'done', '  bash  a.ts · done'],
    [{}, '', '  bash'],
    [{ n: 1 }, [{ type: 'text', text: 'ok' }], '  bash  {"n":1} · ok'],
    [{ command: 'x\x1b[2Jy' }, 'z', '  bash  x␛[2Jy · z'],
  ])('for %j and %j is %j', (input, output, line) =>
    expect(
      toolLine(
        { call: { name: 'bash', input }, result: { output }, tookMs: null },
        { width: 80, style: plain },
      ),
    ).toBe(line),
  )

  test('cuts the argument first', () => {
    const line = toolLine(
      { call: { name: 'bash', input: 'x'.repeat(200) }, result: { output: 'exit 0' }, tookMs: null },
      { width: 40, style: plain },
    )
    expect(line).toBe(`  bash  ${'x'.repeat(22)}… · exit 0`)
  })
})

describe('the forks of branches', () => {
  test('count as own messages those on no other branch', async () => {
    await using store = await openStore(':memory:')
    const { branch } = await store.create()
    const say = (text: string) => [{ role: 'user', content: text }] as const
    const a = await store.append(branch, null, say('a'))
    const b = await store.append(branch, a.head, say('b'))
    const c = await store.append(branch, b.head, say('c'))
    const inside = await store.createBranch(branch.conversationId, b.head, { name: 'inside' })
    const beside = await store.createBranch(branch.conversationId, b.head, { name: 'beside' })
    const d = await store.append(beside, b.head, say('d'))
    const e = await store.append(beside, d.head, say('e'))
    const read = async (id: typeof a.head) => (await store.getMessages([id]))[0]!
    const forks = findForks(await collectPages(page => store.listStretches(branch.conversationId, page)), [
      { name: 'main', head: await read(c.head) },
      { name: inside.name, head: await read(b.head) },
      { name: 'beside', head: await read(e.head) },
      { name: 'empty', head: null },
    ])
    expect(Object.fromEntries(forks.own)).toEqual({ main: 1, inside: 0, beside: 2, empty: 0 })
    expect(forks.siblings(d.head)).toEqual([
      { id: c.head, branch: 'main' },
      { id: d.head, branch: 'beside' },
    ])
    expect(forks.siblings(a.head)).toEqual([])
  })
})

const here = home()
const story = await tellStories(here)
afterAll(() => here[Symbol.dispose]())

describe('skein show', () => {
  test('prints Markdown with full ids and times in a pipe (S0-4, S3-3)', async () => {
    const { stdout, stderr, code } = await here.skein(['show', story.storm.slice(0, 8)])
    expect([stderr, code]).toEqual(['', 0])
    const headings = stdout.split('\n').filter(line => line.startsWith('#'))
    expect(headings[0]).toBe('# Reconnect storm after the certificate reload')
    expect(headings[1]).toMatch(/^## You \(\d{4}-\d\d-\d\dT[\d:.]+Z, [a-z2-7]{32}\)$/)
    expect(headings[2]).toContain(`## sonnet-4.5 (`)
    expect(headings).toHaveLength(6)
    expect(stdout).toContain('- bash: npm test -- reconnect · 41 run (failed)')
    expect(stdout).toContain('(interrupted)')
    expect(stdout).not.toContain('2 of 41 failed')
    const full = await here.skein(['conversation', 'print', story.storm, '--full'])
    expect(full.stdout).toContain('```\n41 run\n2 of 41 failed\n```')
  })

  test('accepts a key, a branch, a message, and no argument', async () => {
    const heads = async (...args: string[]) => {
      const { stdout } = await here.skein(['show', ...args, '--json'])
      const { branch, path } = JSON.parse(stdout)
      return [branch, path.at(-1).id, path.length]
    }
    expect(await heads('cli:storm')).toEqual(['main', story.said.polling, 4])
    expect(await heads(`${story.storm}:full-jitter`)).toEqual(['full-jitter', story.said.both, 6])
    expect(await heads(story.said.poll.slice(0, 10))).toEqual(['main', story.said.poll, 3])
    expect(await heads()).toEqual(['full-jitter', story.said.both, 6])
    expect(await heads('--from', story.said.jitter)).toEqual(['full-jitter', story.said.both, 4])
  })

  test('prints the conversation, the path with its blocks, and the summaries as JSON', async () => {
    const { stdout } = await here.skein(['convo', 'view', story.storm, '--json'])
    const shown = JSON.parse(stdout)
    expect(Object.keys(shown)).toEqual(['conversation', 'branch', 'path', 'summaries', 'draft'])
    expect(shown.conversation.id).toBe(story.storm)
    expect(shown.path[1]).toMatchObject({
      id: story.said.because,
      parent: story.said.why,
      role: 'assistant',
      status: 'complete',
      model: 'anthropic/claude-sonnet-4-5',
      usage: { input: 66_000, output: 1_200, cache_read: null, cost_usd: 0.05 },
      siblings: [],
    })
    expect(shown.path[2].siblings).toEqual(['main', 'full-jitter'])
    expect(shown.path[3].blocks[1]).toEqual({
      type: 'tool_call',
      mime: null,
      modality: null,
      call_id: 'c1',
      name: 'bash',
      input: { command: 'npm test -- reconnect' },
      meta: null,
    })
    expect(shown.path.at(-1).status).toBe('interrupted')
    expect(shown.summaries).toMatchObject([
      {
        from: story.said.why,
        to: story.said.because,
        text: 'A storm.',
        model: 'claude-haiku-4-5',
        tokens: 610,
      },
    ])
  })

  test('prints only the last code block with -x', async () => {
    const [found, none] = await Promise.all([
      here.skein(['show', story.storm, '-x']),
      here.skein(['show', story.other, '-x']),
    ])
    expect(found).toEqual({ stdout: 'make storm\n', stderr: '', code: 0 })
    expect(none).toEqual({ stdout: '', stderr: 'skein: there is no code block on this path\n', code: 3 })
  })

  test('prints a line for each message with --path', async () => {
    const { stdout } = await here.skein(['show', story.storm, '--path'])
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map(line => line.split('\t'))
    expect(lines.map(([id]) => id)).toContain(story.said.failed)
    expect(lines).toHaveLength(6)
    expect(lines[0]!.slice(2)).toEqual(['user', 'Staging drops every websocket at 02:00. Why?'])
  })

  test('never lets stored text control the terminal', async () => {
    const { stdout } = await here.skein(['show', story.other])
    expect(stdout).toContain('red ␛[41m')
    expect(drivesTerminal(stdout)).toBe(false)
    using shown = terminal(here, ['show', story.other])
    await shown.ended
    expect(drivesTerminal(shown.raw)).toBe(false)
  })

  test('uses the pager for long output, and prints directly if the pager does not exist', async () => {
    const pagers = [
      ['sed "s/^/paged: /"', 'paged: You'],
      ['no-such-pager-here', 'Staging drops every'],
      ['cat', 'Staging drops every'],
    ] as const
    for (const [PAGER, text] of pagers) {
      using shown = terminal(here, ['show', story.storm], { rows: 8, env: { PAGER } })
      expect(await shown.ended).toBe(0)
      expect(shown.screen()).toContain(text)
    }
    if (existsSync('/usr/bin/less')) {
      using shown = terminal(here, ['show', story.storm], { rows: 8 })
      // It opens at the end.
      await shown.see('Both tests read')
      shown.type('q')
      expect(await shown.ended).toBe(0)
      expect(shown.screen()).not.toContain('Staging drops every')
      using all = terminal(here, ['show', story.storm, '--all'], { rows: 8 })
      await all.see('Staging drops every')
      all.type('q')
      expect(await all.ended).toBe(0)
      expect(all.screen()).not.toContain('Both tests read')
    }
    using short = terminal(here, ['show', story.storm], { rows: 60, env: { PAGER: 'sed "s/^/paged: /"' } })
    await short.ended
    expect(short.screen()).not.toContain('paged')
  })

  test.each([
    [['show', 'zzzzzz'], 'matches zzzzzz', 3],
    [['show', '--path', '--full'], '--path and --full contradict each other. Drop one', 2],
    [['show', '-x', '--json'], '--code and --json contradict each other', 2],
    [['show', 'cli:storm', '--from'], '--from needs <id>', 2],
    [['show', 'one', 'two'], 'show does not know what to do with "two"', 2],
  ])('%j fails with a message', async (args, words, expected) => {
    const { stdout, stderr, code } = await here.skein(args)
    expect([stdout, code]).toEqual(['', expected])
    expect(stderr).toContain(words)
  })

  test('refuses --from with a message of another path, and an empty directory, as usage errors', async () => {
    const from = await here.skein(['show', 'cli:storm', '--from', story.said.both])
    expect([from.code, from.stderr]).toEqual([
      2,
      `skein: ${story.said.both} is not on this path. skein show ${story.said.both} shows the way to it\n`,
    ])
    const nothing = await here.skein(['show'], { cwd: '/' })
    expect([nothing.code, nothing.stderr]).toEqual([
      2,
      'skein: show needs an id here. skein ls --all lists them\n',
    ])
  })
})
