import { Readable, Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type AgentOptions, createAgent, tool } from '../../../src/agent/index.ts'
import { printAnswer } from '../../../src/cli/answer/print-answer.ts'
import type { CommandContext } from '../../../src/cli/command-line/command-context.ts'
import { styleFor } from '../../../src/cli/output/style.ts'
import { scripted } from '../../../src/models/index.ts'
import { openStore } from '../../../src/stores/open.ts'

/** A context without a process. Both streams are collected in one text, each line with its stream. */
function testContext(overrides: Partial<CommandContext> = {}) {
  const written: string[] = []
  const output = (mark: string) => ({
    isTerminal: false,
    width: 80,
    rows: 24,
    style: styleFor({ isTerminal: false, env: {}, noColor: true }),
    write: (text: string) => void written.push(`${mark}${text}`),
    line: (text = '') => void written.push(`${mark}${text}\n`),
    drained: async () => undefined,
    stream: new Writable(),
  })
  const here: CommandContext = {
    env: {},
    cwd: '/',
    now: () => 0,
    stdin: Readable.from([]) as never,
    out: output(''),
    err: output('# '),
    canAsk: false,
    json: false,
    quiet: false,
    signal: new AbortController().signal,
    location: () => ({ target: ':memory:', isFile: false, kind: 'given', project: null }),
    store: () => openStore(':memory:'),
    ...overrides,
  }
  return { here, text: () => written.join('') }
}

async function shown(
  options: Partial<AgentOptions>,
  words: readonly string[],
  overrides: Partial<CommandContext> = {},
) {
  await using store = await openStore(':memory:')
  await using agent = createAgent({ model: scripted(), store, ...options })
  const { here, text } = testContext(overrides)
  let last: Awaited<ReturnType<typeof printAnswer>> | undefined
  for (const one of words)
    last = await printAnswer(agent.send('k', one), here, { model: 'scripted', more: ' /context' })
  return { text: text(), last: last! }
}

const read = tool({
  description: 'reads',
  input: z.object({ path: z.string() }),
  run: async ({ path }) => {
    if (path === 'none') throw new Error('no such file')
    return 'one\ntwo\nthree'
  },
})

describe('printAnswer', () => {
  it('prints a line for each tool call, and a paragraph for each step', async () => {
    const script = [
      { text: 'I will look.', calls: [{ name: 'read', input: { path: 'a.ts' } }] },
      { calls: [{ name: 'read', input: { path: 'none' } }] },
      'Done.',
    ]
    const { text, last } = await shown({ model: scripted({ script }), tools: { read } }, ['look'])
    expect(text).toBe(
      'I will look.\n# ' + '  read  a.ts · 3 lines · 0 ms\n# ✗ read  none · no such file · 0 ms\n\nDone.\n',
    )
    expect(last).toMatchObject({ movedAside: false, reply: { status: 'complete', steps: 3 } })
    const quiet = await shown({ model: scripted({ script }), tools: { read } }, ['look'], { quiet: true })
    expect(quiet.text).toBe('I will look.\n\nDone.\n')
    const json = await shown({ model: scripted({ script }), tools: { read } }, ['look'], { json: true })
    expect(json.text).toBe('')
  })

  it('prints how many messages were left out of the window, and that they are kept', async () => {
    const window = { limit: 128_000, maxTokens: 60, keepRecent: 2 }
    const { text, last } = await shown({ window }, ['/long 20', '/long 20', '/say ok'])
    expect(text).toMatch(
      /# {3}window: \d+ older messages? (was|were) left out of this call\. All are kept\. \/context\nok/,
    )
    expect(last.context!.leftOut).toBeGreaterThan(0)
  })

  it('prints how many messages a summary replaces', async () => {
    const window = { limit: 128_000, maxTokens: 200, keepRecent: 2 }
    const { text, last } = await shown({ window, strategy: 'summarization' }, [
      '/long 40',
      '/long 40',
      '/long 40',
      '/say ok',
    ])
    expect(text).toMatch(/# {3}summary: \d+ messages are now \d+ tokens.* All are kept\. \/context\n/)
    expect(last.context!.summarised).toBeGreaterThan(0)
  })

  it('ends its line before an error is printed', async () => {
    const model = scripted({ script: [{ text: 'half an answer', breakAfter: 2 }] })
    const { here, text } = testContext()
    await using agent = createAgent({ model })
    await expect(printAnswer(agent.send('k', 'x'), here, { model: 'scripted' })).rejects.toThrow('broke off')
    expect(text()).toBe('half an\n')
  })
})
