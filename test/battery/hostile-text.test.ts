import { strict as assert } from 'node:assert'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { sha256Hex } from '../../src/core/hash.ts'
import type { Store } from '../../src/core/ports.ts'
import type { Source } from '../../src/core/source.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'
import { freshDatabase, openPool } from '../stores/postgres/database.ts'
import { serviceAsking, serviceStoring } from './hostile-service-spots.ts'
import {
  allOf,
  asking,
  Kept,
  outcomeOf,
  prepareGround,
  type Spot,
  storing,
  textless,
} from './hostile-spots.ts'
import { hostileText, hostileTexts } from './hostile-texts.ts'
import { note } from './note.ts'
import { size } from './size.ts'

/** Hostile text in every argument of every method, on both engines at once: each must store it to the byte or
 *  refuse it, and both must give the same answer, to the letter of the error. */
const moreTexts = size({ gate: 2, full: 1_000 })
const seed = Number(process.env.PROPERTY_SEED ?? size({ gate: 20_260_101, full: Date.now() % 1_000_000_000 }))
const timeout = size({ gate: 240_000, full: 3_600_000 })

const pool = openPool(await freshDatabase(), { max: 4 })

/** The same clock and the same ids for all stores, so that their answers can be compared. */
const clock = { now: 1_767_225_600_000 }
function source(): Source {
  let made = 0
  return {
    now: () => clock.now,
    uuid: () => `00000000-0000-4000-8000-${(++made).toString(16).padStart(12, '0')}`,
  }
}

const openSqlite = () => openSqliteStore(':memory:', { source: source() })
let tenants = 0
const openPostgres = () => postgresStore(pool, { source: source(), tenant: `tenant ${++tenants}` })

const spots = Object.entries({ ...storing, ...serviceStoring, ...asking, ...serviceAsking })

interface Tally {
  kept: number
  refused: number
  answered: number
}

/** Tries a text everywhere. Throws if the stores differ, if one changes the text, or if one fails in another
 *  way. */
async function tryText(stores: readonly [Store, Store], text: string, tally: Tally): Promise<void> {
  const grounds = [await prepareGround(stores[0]), await prepareGround(stores[1])] as const
  for (const [name, spot] of spots) {
    const what = `${name} with ${JSON.stringify(text.slice(0, 80))}`
    clock.now++
    const [one, two] = await Promise.all([at(0, spot), at(1, spot)])
    assert.deepStrictEqual(two, one, `${what} is not the same on both`)
    if ('code' in one) tally.refused++
    else if (one.value instanceof Kept) {
      assert.strictEqual(one.value.text, text, `${what} does not come back as it was`)
      tally.kept++
    } else tally.answered++
  }
  // All stored data, record by record.
  const [mine, theirs] = await Promise.all([dump(0), dump(1)])
  assert.deepStrictEqual(
    theirs,
    mine,
    `what is stored of ${JSON.stringify(text.slice(0, 80))} is not the same`,
  )

  async function at(i: 0 | 1, spot: Spot) {
    try {
      return await outcomeOf(() => spot(stores[i], grounds[i], text))
    } catch (error) {
      throw new Error(
        `${JSON.stringify(text.slice(0, 80))} on ${i === 0 ? 'SQLite' : 'PostgreSQL'}: ${error}`,
        {
          cause: error,
        },
      )
    }
  }

  async function dump(i: 0 | 1): Promise<unknown[]> {
    const records = await allOf(stores[i].readRecords(grounds[i].id))
    return records.map(record => ('hash' in record && 'data' in record ? sha256Hex(record.data) : record))
  }
}

async function tryAll(stores: readonly [Store, Store], texts: readonly string[]): Promise<Tally> {
  const tally: Tally = { kept: 0, refused: 0, answered: 0 }
  for (const text of texts) await tryText(stores, text, tally)
  return tally
}

it('stores hostile text in every argument to the byte or refuses it, on both engines alike (R13)', {
  timeout,
}, async () => {
  console.log(`texts with seed ${seed}`)
  const stores = [await openSqlite(), await openPostgres()] as const
  const texts = [...hostileTexts, ...fc.sample(hostileText, { seed, numRuns: moreTexts })]
  const tally = await tryAll(stores, texts)
  note('texts', texts.length)
  note('arguments', spots.length)
  for (const [name, times] of Object.entries(tally)) note(name, times)
  // If everything is refused, nothing is proved.
  expect(Math.min(...Object.values(tally))).toBeGreaterThan(texts.length)
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
})

it('covers every method of a store', async () => {
  const store = await openSqlite()
  const tried = [...spots.map(([name]) => name.split(':')[0]!), ...Object.keys(textless)]
  expect([...new Set(tried)].sort()).toEqual(Object.keys(store).sort())
})

/** Stores with one fault each. */
const faults: Record<string, (store: Store) => Partial<Store>> = {
  'folds accents': store => ({
    setLabel: (id, label) => store.setLabel(id, label?.normalize('NFC') ?? null),
  }),
  'trims a key': store => ({ findOrCreate: (key, rest) => store.findOrCreate(key.trim() || key, rest) }),
  'takes any word for a status': store => ({
    listTurns: (id, options) =>
      store.listTurns(id, options).catch(() => ({ items: [], next: null, skipped: [] })),
  }),
  'names no field in an error': store => ({
    setKey: async (ref, key) =>
      store.setKey(ref, key).catch(error => {
        throw Object.assign(error, { message: 'invalid' })
      }),
  }),
}

it.each(Object.entries(faults))('control: fails on a store that %s', { timeout }, async (_, fault) => {
  const store = await openSqlite()
  const stores = [await openSqlite(), { ...store, ...fault(store) }] as const
  await expect(tryAll(stores, hostileTexts)).rejects.toThrow(/is not the same|does not come back/)
})
