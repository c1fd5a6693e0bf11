import { expect, it } from 'vitest'
import { readShownPath } from '../../../src/cli/read/shown-path.ts'
import type { Store } from '../../../src/core/ports.ts'
import { openStore } from '../../../src/stores/open.ts'
import { home } from '../skein.ts'
import { stocked, tell } from '../stock.ts'

it('ls takes the same number of statements for 5 conversations as for 50', async () => {
  using here = home()
  await stocked(here, async store => {
    for (let n = 0; n < 50; n++)
      await tell(store, { directory: here.cwd, title: `Talk ${n}` }, 'hi', 'Hello.')
  })
  const statementsFor = async (limit: number, ...flags: readonly string[]) => {
    const { stdout, stderr } = await here.skein(['ls', '-l', `${limit}`, ...flags], {
      env: { SKEIN_DEBUG: 'statement' },
    })
    const listed = flags.length > 0 ? JSON.parse(stdout).length : stdout.trimEnd().split('\n').length
    expect(listed).toBe(limit)
    return stderr.trimEnd().split('\n').length
  }
  expect(await statementsFor(5)).toBeGreaterThan(3)
  for (const flags of [[], ['--json']]) {
    expect(await statementsFor(50, ...flags)).toBe(await statementsFor(5, ...flags))
  }
})

/** The store, and the names of the methods that were called. */
function watched(store: Store): { readonly store: Store; readonly called: Set<string> } {
  const called = new Set<string>()
  const proxy = new Proxy(store, {
    get(target, name, receiver) {
      called.add(String(name))
      return Reflect.get(target, name, receiver)
    },
  })
  return { store: proxy, called }
}

it('show reads neither all turns nor all branches nor all events for the newest messages', async () => {
  await using opened = await openStore(':memory:')
  const said = Array.from({ length: 600 }, (_, n) => `message ${n}`) as [string, ...string[]]
  const { conversation, ids } = await tell(opened, {}, ...said)
  await opened.createBranch(conversation.id, ids[10]!, { name: 'side' })
  const { store, called } = watched(opened)
  const shown = await readShownPath(store, await store.resolve(conversation.id))
  let messages = 0
  for await (const part of shown.parts({ newest: 200 })) messages += part.messages.length
  expect([shown.facts.pathMessages, messages, await shown.contains({ id: ids[5]!, depth: 5 })]).toEqual([
    600,
    200,
    true,
  ])
  expect(await shown.contains({ id: ids[6]!, depth: 5 })).toBe(false)
  const all = ['listTurns', 'listBranches', 'listStretches', 'listEvents', 'listPath', 'listMessages']
  expect(all.filter(name => called.has(name))).toEqual([])
})

it('show joins the parts of a long path without a gap, and finds results in the next part', async () => {
  await using store = await openStore(':memory:')
  const said = Array.from({ length: 1_203 }, (_, n) => `message ${n}`) as [string, ...string[]]
  const { conversation, ids } = await tell(store, {}, ...said)
  const shown = await readShownPath(store, await store.resolve(conversation.id))
  for (const fromDepth of [0, 1, 499, 500, 703, 1_202]) {
    const found: string[] = []
    for await (const { messages, around } of shown.parts({ fromDepth })) {
      found.push(...messages.map(({ id }) => id))
      const next = ids[ids.indexOf(messages.at(-1)!.id) + 1]
      if (next !== undefined) expect(around.map(({ id }) => id)).toContain(next)
    }
    expect(found).toEqual(ids.slice(fromDepth))
  }
})
