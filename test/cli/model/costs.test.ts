import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { stocked } from '../stock.ts'
import { type ServedHome, servedHome } from './with-server.ts'

const usage = { input: 1_000, output: 200, cacheRead: 400 }
const reply = () => ({ parts: [{ text: 'ok' }], usage })

/** The cost of one answer as ask, ls and stats say it. */
async function costs(here: ServedHome, args: readonly string[], env = {}) {
  const asked = JSON.parse((await here.skein(['--json', ...args, 'hi'], { env })).stdout)
  const [listed] = JSON.parse((await here.skein(['ls', '--json'])).stdout)
  const { all } = JSON.parse((await here.skein(['stats', '--json'])).stdout)
  return [asked.cost_usd, listed.cost_usd, all.cost_usd]
}

it('has the same cost in ask, ls and stats: of a published price, of a given one, of none', async () => {
  await using known = await servedHome({ reply })
  const gpt = (600 * 5 + 400 * 0.5 + 200 * 30) / 1e6
  for (const cost of await costs(known, ['-m', 'gpt'])) expect(cost).toBeCloseTo(gpt, 10)

  await using given = await servedHome({ reply })
  given.configure('models:', '  compatible/x:', '    price: { input: 1, output: 2, cache_read: 0.5 }')
  for (const cost of await costs(given, ['-m', 'compatible/x']))
    expect(cost).toBeCloseTo((600 + 400 * 0.5 + 200 * 2) / 1e6, 10)

  await using unknown = await servedHome({ reply })
  expect(await costs(unknown, ['-m', 'compatible/x'])).toEqual([null, null, null])
  const { stdout } = await unknown.skein(['stats'])
  expect(stdout).not.toMatch(/\?|cost/)

  await using demo = await servedHome()
  expect(await costs(demo, ['-m', 'scripted'])).toEqual([0, 0, 0])
}, 60_000)

it('counts a model once, also where failed turns of an older version have another name', async () => {
  await using here = await servedHome({ reply: ({ n }) => (n === 1 ? { status: 401 } : 'ok') })
  await here.skein(['-n', '-m', 'opus', 'one'])
  await here.skein(['two'])
  const models = async () =>
    JSON.parse((await here.skein(['stats', '--json'])).stdout).models.map(
      ({ model, turns }: { model: string; turns: number }) => [model, turns],
    )
  expect(await models()).toEqual([['anthropic/claude-opus-5-5', 2]])

  await stocked(here, async store => {
    const { branch } = await store.create()
    const write = (key: string, model: string, head: string | null) =>
      store.append(branch, head, [{ role: 'user', content: key }], {
        turn: { key, step: 0, model, usage: { input: 1, output: 1 } },
      })
    const { head } = await write('a', 'claude-opus-5-5', null)
    await write('b', 'claude-sonnet-4-5-20250929', head)
  })
  expect((await models()).toSorted()).toEqual([
    ['anthropic/claude-opus-5-5', 3],
    ['anthropic/claude-sonnet-4-5', 1],
  ])
}, 60_000)

it('counts the definitions of tools in /context and in the context that is sent', async () => {
  await using here = await servedHome()
  const server = join(import.meta.dirname, '../../support/mcp-stdio.ts')
  const folder = join(here.env.XDG_CONFIG_HOME!, 'skein')
  mkdirSync(folder, { recursive: true })
  const command = `command: ${JSON.stringify(process.execPath)}\n    args: ${JSON.stringify([server])}`
  writeFileSync(join(folder, 'skein.yaml'), `mcp:\n  files:\n    ${command}\n`)
  const { stdout } = await here.skein(['chat'], { input: 'hi\n/context\n' })
  const [, pinned] = /pinned .* (\d+) {2}tools, no system prompt/.exec(stdout)!
  const { tools } = here.server.requests[0]!
  expect(tools.length).toBeGreaterThan(0)
  const body = here.server.requests[0]!.body as { tools: readonly object[] }
  const described = JSON.stringify(body.tools).length / 4
  expect(Number(pinned) / described).toBeGreaterThan(0.7)
  expect(Number(pinned) / described).toBeLessThan(1.4)
}, 60_000)
