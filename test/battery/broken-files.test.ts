import { beforeAll, expect, it } from 'vitest'
import { blobHashesIn } from '../../src/core/body.ts'
import { InvalidError } from '../../src/core/errors.ts'
import type { ConversationId } from '../../src/core/ids.ts'
import type { Store } from '../../src/core/ports.ts'
import type { MessageRecord, StoreRecord } from '../../src/core/record.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'
import { fileOf, recordsOf, type Taken, takeFile } from '../formats/native-file.ts'
import { fillWithEverything, steadySource } from '../stores/everything.ts'
import { breakFile } from './break-file.ts'
import { note } from './note.ts'
import { seededRandom } from './random.ts'
import { size } from './size.ts'

/** Files with one record of each kind are broken at random and imported twice. */
const files = size({ gate: 200, full: 5_000 })
const timeout = size({ gate: 120_000, full: 3_600_000 })
const seed = 26

let truth: readonly StoreRecord[]
let file: Buffer
let byLine: ReadonlyMap<string, StoreRecord>
let ids: readonly ConversationId[]

beforeAll(async () => {
  await using store = await openSqliteStore(':memory:', { source: steadySource() })
  ;({ ids } = await fillWithEverything(store))
  truth = await recordsOf(store, ids)
  file = Buffer.from(fileOf(truth))
  byLine = new Map(truth.map(record => [fileOf([record]).split('\n')[1]!, record]))
})

/** The messages of a broken file that must be imported: their lines are whole, and so are the lines of their
 *  dependencies. */
function mustGoIn(broken: Buffer): ReadonlySet<string> {
  const whole = broken
    .toString()
    .split(/\r?\n/)
    .flatMap(line => byLine.get(line.trim()) ?? [])
  const there = new Set<string>()
  // In order of seq, parents come first, wherever their lines are in the file.
  for (const record of whole.toSorted((a, b) => seqOf(a) - seqOf(b))) {
    if (record.kind === 'blob') there.add(record.hash)
    if (record.kind === 'conversation') there.add(record.id)
    if (record.kind === 'message' && needs(record).every(name => there.has(name))) there.add(record.id)
  }
  return new Set([...there].filter(name => name.length === 32))
}

const seqOf = (record: StoreRecord) => (record.kind === 'message' ? record.seq : -1)

function needs({ conversationId, parentId, turn, id, body }: MessageRecord): string[] {
  const above = [parentId, turn].filter(name => name !== null && name !== id) as string[]
  return [conversationId, ...above, ...(body === null ? [] : blobHashesIn(body))]
}

/** The data that a message's id covers. */
const vouched = ({ id, conversationId, parentId, role, at, bodyHash }: MessageRecord) =>
  JSON.stringify({ id, conversationId, parentId, role, at, bodyHash })

async function stored(store: Store): Promise<StoreRecord[]> {
  const there: ConversationId[] = []
  for (const filter of [{}, { trashed: true }] as const) {
    for (const { id } of (await store.listConversations({ ...filter, limit: 1_000 })).items) there.push(id)
  }
  return recordsOf(store, there)
}

it('imports every whole line of a broken file and nothing else, and a second import changes nothing (R26)', {
  timeout,
}, async () => {
  const random = seededRandom(seed)
  const known = new Map(
    truth.flatMap(one => (one.kind === 'message' ? [[one.id as string, vouched(one)]] : [])),
  )
  let [lost, wrong, twice, silent, newer, bad, wholeMessages, damage] = [0, 0, 0, 0, 0, 0, 0, 0]
  for (let n = 0; n < files; n++) {
    const { broken, ways } = breakFile(file, random)
    const named = `seed ${seed}, file ${n}: ${ways.join(', ')}`
    await using store = await openSqliteStore(':memory:', { source: steadySource(Date.UTC(2026, 5, 1)) })
    let taken: Taken
    try {
      taken = await takeFile(store, broken, { chunk: 16_384 })
    } catch (error) {
      // The only possible error: the version of the file was changed.
      expect(error, named).toBeInstanceOf(InvalidError)
      newer++
      continue
    }
    const records = await stored(store)
    const messages = records.filter(record => record.kind === 'message')
    const here = new Map(messages.map(message => [message.id as string, vouched(message)]))
    const expected = mustGoIn(broken)
    wholeMessages += expected.size
    lost += [...expected].filter(id => !here.has(id)).length
    // Every message is one that was written: anything else would need a collision of SHA-256.
    wrong += [...here].filter(([id, message]) => known.get(id) !== message).length
    if (here.size < known.size && taken.bad.length === 0) silent++
    bad += taken.bad.length
    // The imported data is intact: places, sums, gaps, blobs, summaries. Lost turns are not damage.
    if (n % 10 === 0) damage += (await store.verify()).findings.damage
    const again = await takeFile(store, broken, { chunk: 16_384 })
    const changed = Object.keys({ ...again.tally.added, ...again.tally.advanced }).length > 0
    if (changed || fileOf(await stored(store)) !== fileOf(records)) twice++
    expect([lost, wrong, twice, silent, damage], named).toEqual([0, 0, 0, 0, 0])
  }
  note('files', files)
  note('messages in whole lines', wholeMessages)
  note('of them lost', lost)
  note('invented messages', wrong)
  note('bad lines reported', bad)
  note('files changed by a second import', twice)
  note('damage that verify finds in every tenth', damage)
  expect(wholeMessages).toBeGreaterThan(files)
  expect(bad).toBeGreaterThan(files)
  expect(newer).toBeLessThan(files / 10)
})

it('control: loses the lines after the first bad one if the import stops there', {
  timeout,
}, async () => {
  const random = seededRandom(seed)
  let lost = 0
  for (let n = 0; n < 20; n++) {
    const { broken } = breakFile(file, random)
    const text = broken.toString()
    const lines = text.split('\n')
    const firstBad = lines.findIndex(line => {
      try {
        return typeof JSON.parse(line) !== 'object'
      } catch {
        return true
      }
    })
    await using store = await openSqliteStore(':memory:', { source: steadySource(Date.UTC(2026, 5, 1)) })
    await takeFile(store, lines.slice(0, firstBad).join('\n')).catch(() => null)
    const here = new Set(
      (await stored(store)).flatMap(one => (one.kind === 'message' ? [one.id as string] : [])),
    )
    lost += [...mustGoIn(broken)].filter(id => !here.has(id)).length
  }
  expect(lost).toBeGreaterThan(100)
})
