import { expect, it } from 'vitest'
import type { BranchRef } from '../../src/core/branch.ts'
import { SkeinError } from '../../src/core/errors.ts'
import type { MessageId } from '../../src/core/ids.ts'
import { textOf } from '../../src/core/message.ts'
import { collectPages } from '../../src/core/pages.ts'
import type { AppendOptions, Store } from '../../src/core/ports.ts'
import { openPostgresStore, postgresStore } from '../../src/stores/postgres/index.ts'
import { holder, say } from '../../src/testing/contract/build.ts'
import { freshDatabase, openPool } from '../stores/postgres/database.ts'
import { type Cut, type Passed, startCuttingProxy } from './cutting-proxy.ts'
import { note } from './note.ts'
import { seededRandom } from './random.ts'
import { size } from './size.ts'

/** The same work repeatedly, from the first byte of the connection to the last, each time with the connection
 *  cut at another message of the protocol. A caller that retries with the same turn keys ends with everything
 *  stored once. */
const cutsWanted = size({ gate: 40, full: 500 })
/** The battery leaves out none of the places. */
const atEveryPlace = size({ gate: false, full: true })
const timeout = size({ gate: 60_000, full: 1_800_000 })

const url = await freshDatabase()
const direct = await postgresStore(openPool(url))

const large = `large ${'blob '.repeat(5_000)}`

/** How a caller continues after an error with an unknown outcome. */
type Manner =
  /** With the same turn key and step. */
  | 'keyed'
  /** At the current head, without a key: the negative control. */
  | 'blind'

/** The errors that a caller met. */
type Troubles = Map<string, number>

/** Opens a store and writes seven messages in three turns, with every kind of append: at once, in steps, with
 *  a draft, with a blob, on a sibling branch. */
async function work(target: string, key: string, manner: Manner, troubles: Troubles): Promise<void> {
  // The background index sends statements whenever it has time, and the place of a cut is a number.
  const store = await insist(() => openPostgresStore(target, { pool: { max: 1 }, indexing: 'manual' }))
  const { branch, conversation } = await insist(() => store.findOrCreate(key))
  const open = { status: 'open', holder: holder() } as const
  const q = await append(branch, null, ['q1'], { turn: { key: 'steps', step: 0, ...open } })
  const piece = { n: 0, type: 'text', text: 'dra' } as const
  if (manner === 'keyed') await insist(() => store.putDraft(conversation.id, 'steps', holder(), [piece]))
  const a = await append(branch, q, ['draft', large], { turn: { key: 'steps', step: 1, ...open } })
  const end = { status: 'complete', heldBy: holder() } as const
  if (manner === 'keyed') await insist(() => store.endTurn(conversation.id, 'steps', end), 'expired')
  await append(branch, a, ['q2', 'a2'], { turn: { key: 'at once', step: 0 } })
  const beside = { turn: { key: 'beside', step: 0 }, onConflict: 'fork' } as const
  await append(branch, q, ['other', 'way'], beside)
  await store.close()

  async function append(
    ref: BranchRef,
    head: MessageId | null,
    texts: readonly string[],
    options: AppendOptions,
  ): Promise<MessageId> {
    const words = texts.map((text, i) => say(text, i === 0 ? 'user' : 'assistant')) as [
      ReturnType<typeof say>,
    ]
    let expected = head
    const once = () => {
      if (manner === 'keyed') return store.append(ref, expected, words, options)
      return store.append(ref, expected, words, options.onConflict ? { onConflict: options.onConflict } : {})
    }
    const appended = await insist(async () => {
      try {
        return await once()
      } catch (error) {
        if (manner === 'blind') expected = await insist(async () => (await store.getBranch(ref)).head)
        throw error
      }
    })
    return appended.head
  }

  /** Retries after network errors, and accepts `done` as the answer to an operation that had succeeded. */
  async function insist<T>(attempt: () => Promise<T>, done?: string): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await attempt()
      } catch (error) {
        const code = error instanceof SkeinError ? error.code : `untranslated: ${error}`
        troubles.set(code, (troubles.get(code) ?? 0) + 1)
        if (tries > 1 && code === done) return undefined as T
        if (!['unavailable', 'outcome_unknown'].includes(code) || tries === 4) throw error
      }
    }
  }
}

/** Everything that is visible of the messages under a key. */
async function remains(store: Store, key: string) {
  const { conversation } = (await store.findByKey(key))!
  const branches = await collectPages(page => store.listBranches(conversation.id, page))
  const { items } = await store.listMessages({ conversationId: conversation.id, order: 'ascending' })
  const turns = await collectPages(page => store.listTurns(conversation.id, page))
  return {
    branches: branches.map(({ name, messagesSinceBase }) => [name, messagesSinceBase]),
    messages: items.map(({ seq }) => seq),
    said: items
      .map(textOf)
      .map(text => (text === large ? 'large' : text))
      .sort(),
    counted: conversation.messages,
    turns: turns.map(turn => [turn.key, turn.status, turn.lastStep]),
    draft: await collectPages(page => store.readDraft(conversation.id, 'steps', page)),
  }
}

const everythingOnce = {
  branches: [
    ['main', 5],
    ['main-2', 2],
  ],
  messages: [0, 1, 2, 3, 4, 5, 6],
  said: ['a2', 'draft', 'large', 'other', 'q1', 'q2', 'way'],
  counted: 7,
  turns: [
    ['steps', 'complete', 1],
    ['at once', 'complete', 0],
    ['beside', 'complete', 0],
  ],
  draft: [],
}

/** Every place where the connection can break; those of the server's messages once. */
async function placesToCut(manner: Manner): Promise<{ cuts: readonly Cut[]; passed: readonly Passed[] }> {
  const proxy = await startCuttingProxy(url, null)
  await work(proxy.url, manner, manner, new Map())
  if (manner === 'keyed') expect(await remains(direct, manner)).toEqual(everythingOnce)
  const cuts = proxy.passed.flatMap(({ from, type }, message): Cut[] => {
    if (type === 'X') return [] // the terminate message, for which no caller waits
    const lost: Cut = { message, as: 'lost' }
    return from === 'server' ? [lost] : [lost, { message, as: 'last' }]
  })
  return { cuts, passed: proxy.passed }
}

/** This many of them, spread evenly; each of them once before any is repeated. */
function chosen(cuts: readonly Cut[], count: number, random: () => number): readonly Cut[] {
  const shuffled = (list: readonly Cut[]) =>
    list
      .map(cut => ({ cut, at: random() }))
      .sort((a, b) => a.at - b.at)
      .map(({ cut }) => cut)
  const all: Cut[] = []
  while (all.length < count) all.push(...shuffled(cuts))
  return all.slice(0, count)
}

it('stores everything once by the turn keys if the connection is cut at any message of the protocol (R23)', {
  timeout,
}, async () => {
  const seed = Number(process.env.PROPERTY_SEED ?? Date.now() % 1_000_000)
  console.log(`cuts with seed ${seed}`)
  const { cuts, passed } = await placesToCut('keyed')
  const count = atEveryPlace ? Math.max(cuts.length, cutsWanted) : cutsWanted
  const troubles: Troubles = new Map()
  let unnoticed = 0
  let stored = 0
  for (const [i, cut] of chosen(cuts, count, seededRandom(seed)).entries()) {
    const what = `${cut.as} ${passed[cut.message]!.from} ${passed[cut.message]!.type} at ${cut.message}`
    const proxy = await startCuttingProxy(url, cut)
    const before = [...troubles.values()].reduce((sum, n) => sum + n, 0)
    await work(proxy.url, `cut ${i}`, 'keyed', troubles).catch(error => {
      throw new Error(`cut ${what}: ${error}`, { cause: error })
    })
    expect(proxy.isCut, what).toBe(true)
    const found = await remains(direct, `cut ${i}`)
    expect(found, what).toEqual(everythingOnce)
    stored += found.counted
    if ([...troubles.values()].reduce((sum, n) => sum + n, 0) === before) unnoticed++
  }
  note('places', cuts.length)
  note('cuts', count)
  note('extra messages', stored - count * everythingOnce.counted)
  for (const [code, times] of troubles) note(code, times)
  // Both kinds occurred, and no other error except the answer that a turn had already ended.
  expect([...troubles.keys()].filter(code => code !== 'expired').sort()).toEqual([
    'outcome_unknown',
    'unavailable',
  ])
  // Every cut was noticed, except those after the last use of the connection.
  expect(unnoticed / count).toBeLessThan(0.1)
})

it('control: stores twice if a retry carries no key', { timeout }, async () => {
  const { cuts: all, passed } = await placesToCut('blind')
  // The operation succeeded, and its answer was lost.
  const cuts = all.filter(({ message }) => passed[message]!.from === 'server')
  let doubled = 0
  for (const [i, cut] of chosen(cuts, 20, seededRandom(1)).entries()) {
    const proxy = await startCuttingProxy(url, cut)
    await work(proxy.url, `blind ${i}`, 'blind', new Map())
    const found = await direct.findByKey(`blind ${i}`)
    if (found && found.conversation.messages > 7) doubled++
  }
  note('duplicated', doubled)
  expect(doubled).toBeGreaterThan(0)
})
