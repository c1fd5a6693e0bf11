import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { collectPages } from '../../src/core/pages.ts'
import { pathOf } from '../../src/core/path.ts'
import { openStore } from '../../src/stores/open.ts'
import { type Home, home } from './skein.ts'

/** Twelve statements of about 25 tokens each, and then what the next call would send. */
const input = [
  ...Array.from(
    { length: 12 },
    (_, n) => `fact number ${n} is that bridge number ${n} is built of stone, and long`,
  ),
  '/context\n',
].join('\n')

/** Runs a chat with these settings of `conversation` in the project's file. */
async function chatWith(here: Home, ...settings: readonly string[]) {
  const lines = ['conversation:', ...settings.map(setting => `  ${setting}`)]
  writeFileSync(join(here.cwd, 'skein.yaml'), `${lines.join('\n')}\n`)
  const { stdout, stderr, code } = await here.skein(['chat'], { input })
  expect(code).toBe(0)
  const [, seen] = /^what the next call sees: (\d+) of \S+ \(/m.exec(stdout) ?? []
  return { stdout, stderr, seen: Number(seen) }
}

it('conversation.max_tokens caps the context, and the window slides by default (S2-48, S2-49)', async () => {
  using here = home()
  const { stdout, stderr, seen } = await chatWith(here, 'max_tokens: 250')
  expect(seen).toBeGreaterThan(100)
  expect(seen).toBeLessThanOrEqual(250)
  expect(stderr).toMatch(/window: \d+ older messages were left out of this call/)
  expect(stdout).toMatch(/summary +0 {2}none/)
  using another = home()
  const uncapped = await chatWith(another, 'max_tokens: 100000')
  expect(uncapped.stdout).toMatch(/kept .* 24 messages word for word/)
})

it.each([4, 10])(
  'conversation.token_strategy summarises all but the newest keep_recent_messages: %i (S2-48, S2-50)',
  async count => {
    using here = home()
    const settings = ['token_strategy: summarization', 'max_tokens: 400', `keep_recent_messages: ${count}`]
    await chatWith(here, ...settings)
    await using store = await openStore(`${here.env.XDG_DATA_HOME}/skein/conversations.db`)
    const [listed] = (await store.listConversations()).items
    const path = await pathOf(store, listed!.branch.head!)
    const [summary] = await collectPages(page => store.listSummaries(listed!.id, page))
    const covered = path.findIndex(message => message.id === summary!.last) + 1
    const stored = path.filter(message => message.createdAt <= summary!.createdAt).length
    // The answer of that turn may have the same millisecond, and an answer is never separated from its
    // question.
    expect([count, count + 1, count + 2]).toContain(stored - covered)
  },
)

it('conversation.tool_results is the policy of new conversations, which set can change', async () => {
  using here = home()
  for (const [setting, stored] of [
    ['metadata', 'metadata'],
    ['200', 200],
  ] as const) {
    writeFileSync(join(here.cwd, 'skein.yaml'), `conversation:\n  tool_results: ${setting}\n`)
    expect((await here.skein(['-n', 'hello'])).code).toBe(0)
    const [newest] = JSON.parse((await here.skein(['ls', '--json=tool_results', '-l', '1'])).stdout)
    expect(newest).toEqual({ tool_results: stored })
    expect((await here.skein(['config'])).stdout).toMatch(
      new RegExp(`conversation.tool_results\\s+${setting}`),
    )
  }
  writeFileSync(join(here.cwd, 'skein.yaml'), 'conversation:\n  tool_results: some\n')
  expect((await here.skein(['-n', 'hello'])).stderr).toContain(
    'tool_results: "some" is neither full nor metadata nor a number of characters',
  )
})
