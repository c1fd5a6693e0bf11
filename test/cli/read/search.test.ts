import { afterAll, describe, expect, test } from 'vitest'
import { widthOf } from '../../../src/cli/output/cut.ts'
import { styleFor } from '../../../src/cli/output/style.ts'
import { markSnippet, searchLines } from '../../../src/cli/read/search-lines.ts'
import { home } from '../skein.ts'
import { terminal } from '../terminal.ts'
import { drivesTerminal, tellStories } from './stories.ts'

const plain = styleFor({ isTerminal: true, env: { LANG: 'C.UTF-8' }, noColor: true })
const ascii = styleFor({ isTerminal: true, env: { LANG: 'C' }, noColor: true })

describe('the lines of search', () => {
  const now = Date.now()
  const hits = [
    {
      id: 'v5c4zr',
      at: new Date(now - 7_200_000),
      who: 'sonnet-4.5',
      snippet: {
        text: '…the server swaps its secure context in place, and more',
        marks: [{ start: 22, end: 36 }],
      },
    },
    { id: 'n3b7tq', at: new Date(now), who: 'tool', snippet: { text: 'grep: setSecureContext', marks: [] } },
  ]
  const group = { title: 'Reconnect storm after the certificate reload', id: 'a7xk5f', hits }
  const groups = [{ ...group, directory: null }]

  test('are grouped by conversation, with the matches marked', () =>
    expect(searchLines(groups, 80, now, plain)).toEqual([
      'Reconnect storm after the certificate reload · a7xk5f · 2 hits',
      '  v5c4zr  2h     sonnet-4.5  …the server swaps its [secure context] in place, a…',
      '  n3b7tq  now    tool        grep: setSecureContext',
    ]))

  test('name the directory in a search over all directories', () =>
    expect(searchLines([{ ...group, directory: '~/src/harbor' }], 80, now, plain)[0]).toBe(
      'Reconnect storm after the certificate reload · a7xk5f · 2 hits · ~/src/harbor',
    ))

  test.each([40, 44, 64, 80, 100, 120])('fit %d columns', width => {
    const both = [...groups, { ...group, directory: '~/src/harbor/services/gateway/certificates' }]
    for (const style of [plain, ascii]) {
      for (const line of searchLines(both, width, now, style))
        expect(widthOf(line)).toBeLessThanOrEqual(width)
    }
  })

  test('keep the text of a mark that is cut off, and make stored text safe', () => {
    expect(markSnippet({ text: 'abcdefghijklmnop', marks: [{ start: 6, end: 16 }] }, 12, plain)).toBe(
      'abcdef[ghi]…',
    )
    expect(markSnippet({ text: 'a\u202eb secure', marks: [{ start: 4, end: 10 }] }, 40, plain)).toBe(
      'a\\u202eb [secure]',
    )
    expect(markSnippet({ text: '…ab', marks: [{ start: 1, end: 2 }] }, 40, ascii)).toBe('...[a]b')
  })
})

const here = home()
const story = await tellStories(here)
afterAll(() => here[Symbol.dispose]())

describe('skein search', () => {
  test('prints tab-separated fields of each hit in a pipe, newest first', async () => {
    const { stdout, stderr, code } = await here.skein(['search', 'secure', 'context'])
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map(line => line.split('\t'))
    expect(lines.map(([message, , , , role, kind]) => [message, role, kind])).toEqual([
      [story.said.changes, 'assistant', 'text'],
      [story.said.because, 'assistant', 'thinking'],
    ])
    expect(lines[0]!.slice(1, 3)).toEqual([story.storm, 'full-jitter'])
    expect(lines[0]![6]).toContain('secure context in place')
    expect([stderr, code]).toEqual(['', 0])
  })

  test('prints the marks as pairs in JSON', async () => {
    const { stdout } = await here.skein(['search', '--all', '--ranked', '--json', '"secure context"'])
    const hits = JSON.parse(stdout)
    expect(hits).toHaveLength(3)
    for (const { snippet, marks } of hits) {
      expect(marks.map(([start, end]: [number, number]) => snippet.slice(start, end).toLowerCase())).toEqual([
        'secure context',
      ])
    }
    expect(Object.keys(hits[0]).slice(0, 9)).toEqual([
      'message',
      'conversation',
      'branch',
      'title',
      'role',
      'kind',
      'created_at',
      'snippet',
      'marks',
    ])
  })

  test('groups and marks hits on a terminal, counts hits elsewhere, and prints how to read one', async () => {
    using shown = terminal(here, ['search', 'secure'])
    expect(await shown.ended).toBe(0)
    const lines = shown.screen().trimEnd().split('\n')
    expect(lines[0]).toMatch(/^Reconnect storm after the certificate reload · \S{6} · 2 hits$/)
    expect(lines[1]).toMatch(/^ {2}\S{6} {2}1h {5}sonnet-4\.5 {2}.*secure context in place\.$/)
    expect(lines[2]).toMatch(/^ {2}\S{6} {2}1d {5}thinking {4}/)
    expect(lines[3]).toMatch(/^2 hits in 1 conversation here · --all: 3 · read one: skein show \S{6}$/)
    expect(shown.raw).toContain('\x1b[7msecure\x1b[27m')
  })

  test('limits the hits with -l, and says how to get more', async () => {
    using shown = terminal(here, ['search', '-l', '1', 'secure'])
    await shown.ended
    expect(shown.screen()).toContain('1 hit in 1 conversation here · -l 5 for more')
  })

  test('succeeds without hits, and says where there are some', async () => {
    const [never, nowhere, json] = await Promise.all([
      here.skein(['search', 'elsewhere']),
      here.skein(['search', '--all', 'xyzzy']),
      here.skein(['search', 'xyzzy', '--json']),
    ])
    expect(never).toEqual({ stdout: '', stderr: 'nothing found here. --all finds 1\n', code: 0 })
    expect(nowhere).toEqual({ stdout: '', stderr: 'nothing found\n', code: 0 })
    expect(json).toEqual({ stdout: '[]\n', stderr: '', code: 0 })
  })

  test('never lets stored text control the terminal', async () => {
    const { stdout } = await here.skein(['search', 'pwned'])
    expect(drivesTerminal(stdout)).toBe(false)
    using shown = terminal(here, ['search', 'here'])
    await shown.ended
    expect(drivesTerminal(shown.raw)).toBe(false)
  })

  test.each([
    [['search'], 'search needs a query'],
    [['search', ' '], 'search needs a word to look for'],
    [['search', '-l', '201', 'x'], '-l takes a number from 1 to 200'],
    [['search', '"open'], 'has a quote that is never closed'],
  ])('%j is a usage error', async (args, words) => {
    const { stdout, stderr, code } = await here.skein(args)
    expect([stdout, code]).toEqual(['', 2])
    expect(stderr).toContain(words)
  })

  test('skein branches prints the own messages and the last question of each branch', async () => {
    const [pipe, json, none] = await Promise.all([
      here.skein(['branches', story.storm]),
      here.skein(['convo', 'branches', '--json']),
      here.skein(['branches'], { cwd: '/' }),
    ])
    const lines = pipe.stdout
      .trimEnd()
      .split('\n')
      .map(line => line.split('\t'))
    expect(lines.map(([name, head, own, path, , prompt]) => [name, head, own, path, prompt])).toEqual([
      ['main', story.said.polling, '2', '4', 'Poll instead of push?'],
      ['full-jitter', story.said.both, '4', '6', 'Use full jitter with a 30 s cap.'],
    ])
    expect(JSON.parse(json.stdout)).toMatchObject([
      {
        name: 'main',
        active: false,
        head: story.said.polling,
        key: 'cli:storm',
        own_messages: 2,
        path_messages: 4,
      },
      { name: 'full-jitter', active: true, base: story.said.because, prompt: { id: story.said.jitter } },
    ])
    expect([none.code, none.stderr]).toEqual([
      2,
      'skein: branches needs an id here. skein ls --all lists them\n',
    ])
    using shown = terminal(here, ['branches', story.storm])
    await shown.ended
    expect(shown.screen().trimEnd().split('\n')).toEqual([
      expect.stringMatching(/^ {2}main {9}\S{6} {4}2 of 4 {2}now {2}Poll instead of push\?$/),
      expect.stringMatching(
        /^\* full-jitter {2}\S{6} {4}4 of 6 {2}now {2}Use full jitter with a 30 s cap\.$/,
      ),
    ])
  })
})
