import { expect, test, vi } from 'vitest'
import { bar } from '../../../src/cli/output/bar.ts'
import { home } from '../skein.ts'
import { at, stocked, tell } from '../stock.ts'
import { terminal } from '../terminal.ts'

// Many processes on few cores.
vi.setConfig({ testTimeout: 120_000 })

const day = 86_400_000

test('stats count messages, usage and cost once, of the last 30 days and in total', async () => {
  using here = home()
  const now = Date.now()
  const turn = (key: string, model: string, usage: object) => ({ turn: { key, step: 0, model, usage } })
  await stocked(
    here,
    async store => {
      const { branch } = await store.create({ title: 'old' })
      await store.append(
        branch,
        null,
        [{ role: 'user', content: 'a' }],
        turn('1', 'openai/gpt-5.5', { input: 1_000, output: 200, cost: 2 }),
      )
    },
    { source: at(now - 40 * day) },
  )
  await stocked(here, async store => {
    const { conversation, branch, ids } = await tell(store, { title: 'new' }, 'a', 'b')
    await store.append(
      branch,
      ids[1]!,
      [{ role: 'user', content: 'c' }],
      turn('1', 'anthropic/claude-sonnet-5-5', { input: 500, output: 50, cost: 0.25 }),
    )
    await store.createBranch(conversation.id, (await store.getBranch(branch)).head, { name: 'fork' })
    const gone = await store.create()
    await store.append(
      gone.branch,
      null,
      [{ role: 'user', content: 'd' }],
      turn('1', 'compatible/x', { input: 7, output: 3 }),
    )
    await store.trash(gone.conversation.id)
  })
  const json = JSON.parse((await here.skein(['stats', '--json'])).stdout)
  expect(json).toMatchObject({
    last_30_days: {
      conversations: 1,
      messages: 3,
      turns: 2,
      input: 507,
      output: 53,
      cost_usd: 0.25,
      unpriced_tokens: 10,
    },
    all: { conversations: 2, messages: 4, turns: 3, input: 1_507, output: 253, cost_usd: 2.25 },
  })
  expect(json.days).toHaveLength(1)
  expect(
    json.models.map(({ model, cost_usd }: { model: string; cost_usd: number }) => [model, cost_usd]).sort(),
  ).toEqual([
    ['anthropic/claude-sonnet-5-5', 0.25],
    ['compatible/x', null],
    ['openai/gpt-5.5', 2],
  ])
  const piped = await here.skein(['stats'])
  expect(piped.stdout).toBe(
    '\t30 days\tall\nconversations\t1\t2\nmessages\t3\t4\ntokens in/out\t507 / 53\t1.5k / 253\ncost\t$0.25\t$2.25\n',
  )
})

test('stats list agents of other programs apart from models (B16)', async () => {
  using here = home()
  await stocked(here, async store => {
    for (const [i, model] of [
      'openai/gpt-5.5',
      'claude-sonnet-5-5',
      'scripted',
      'claude-code',
      'gemini',
    ].entries()) {
      const { branch } = await store.create()
      const turn = { key: '1', step: 0, model, usage: { input: 1_000 * (i + 1), output: 0 } }
      await store.append(branch, null, [{ role: 'user', content: 'a' }], { turn })
    }
  })
  const { models, agents } = JSON.parse((await here.skein(['stats', '--json'])).stdout)
  const names = ['anthropic/claude-sonnet-5-5', 'openai/gpt-5.5', 'scripted']
  expect(models.map(({ model }: { model: string }) => model).sort()).toEqual(names)
  expect(agents).toMatchObject([
    { agent: 'claude-code', turns: 1, input: 4_000 },
    { agent: 'gemini', turns: 1, input: 5_000 },
  ])
  using screen = terminal(here, ['stats'])
  expect(await screen.ended).toBe(0)
  expect(screen.screen()).toMatch(/\nagents\n *gemini .* 56%\n *claude-code .* 44%/)
})

test('stats of an empty store are zeros', async () => {
  using here = home()
  expect((await here.skein(['stats'])).stdout).toContain('conversations\t0\t0\n')
})

test('bars are drawn in eighths of a cell', () => {
  expect([0, 0.5, 1, 0.0625, 2].map(share => bar(share, 2))).toEqual(['', '█', '██', '▏', '██'])
  expect(bar(0.5, 10, false)).toBe('#####')
})

test('stats on a terminal names the size of the file, and no empty log', async () => {
  using here = home()
  await here.skein(['-q', 'hello'])
  using screen = terminal(here, ['stats'])
  expect(await screen.ended).toBe(0)
  expect(screen.screen()).toMatch(/^file \d+ kB$/m)
})
