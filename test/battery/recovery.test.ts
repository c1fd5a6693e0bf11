import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Finding } from '../../src/core/finding.ts'
import type { ConversationId } from '../../src/core/ids.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'
import {
  type RecoverLoss,
  type RecoverResult,
  recoverFile,
} from '../../src/stores/sqlite/recover/recover-file.ts'
import { changedSince, damagedCopy, dice, fill, folder, messagesOf, type Truth } from './damaged-file.ts'
import { note } from './note.ts'
import { size } from './size.ts'

const seed = Number(process.env.DAMAGE_SEED ?? 20_261_116)
const place = folder()
afterAll(() => place[Symbol.dispose]())
const path = join(place.path, 'damaged.db')
let truth: Truth
let original: Buffer
let pageSize: number
let rounds = 0

beforeAll(async () => {
  truth = await fill(join(place.path, 'whole.db'), size({ gate: 600_000, full: 2 * 2 ** 20 }), seed)
  original = readFileSync(join(place.path, 'whole.db'))
  pageSize = original.readUInt16BE(16)
})

/** Changes the length of a name in the list of tables. */
function damageRowOfTables(bytes: Buffer): void {
  const record = bytes.indexOf('indexskein_messages_label')
  // The type of a text of five letters.
  const header = bytes.lastIndexOf(23, record)
  bytes[header + 1]! ^= 4
}

interface Outcome {
  readonly recovered: RecoverResult
  readonly losses: readonly RecoverLoss[]
  /** Of the written messages: copied completely, copied in part, and gone. */
  readonly whole: number
  readonly partly: number
  readonly gone: readonly ConversationId[]
}

/** Recovers the damaged file and compares the result with the truth: everything that is not reported as lost
 *  is there, unchanged; the new file is intact; the damaged one is unchanged. */
async function recovered(): Promise<Outcome> {
  const to = join(place.path, `new-${++rounds}.db`)
  const before = readFileSync(path)
  const losses: RecoverLoss[] = []
  await using target = await openSqliteStore(to, { durability: 'normal' })
  const result = await recoverFile(path, target, { onLoss: loss => losses.push(loss) })
  expect(readFileSync(path).equals(before), 'the damaged file is left alone').toBe(true)
  const findings: Finding[] = []
  await target.verify({ onFinding: finding => findings.push(finding) })
  expect(findings.filter(({ severity }) => severity !== 'note')).toEqual([])
  const told = new Set(losses.map(({ conversation }) => conversation))
  let [whole, partly] = [0, 0]
  const gone: ConversationId[] = []
  for (const [id, messages] of truth) {
    const now = await messagesOf(target, id).catch(() => null)
    if (now === null) gone.push(id)
    else if (now.length === messages.length && now.every((line, i) => line === messages[i])) whole++
    else {
      partly++
      expect(told, 'what is not as it was is reported').toContain(id)
    }
  }
  // Each message that is missing under its id is named, if any trace of it remains.
  for (const { kind, message } of losses) if (kind === 'rehung') expect(message).not.toBeNull()
  // A message that vanished without a trace has left a gap.
  if (gone.some(id => !told.has(id))) expect(result.gaps).not.toEqual([])
  return { recovered: result, losses, whole, partly, gone }
}

describe('recover', () => {
  it('copies an intact file completely (R6)', async () => {
    damagedCopy(original, path, () => undefined)
    const { whole, losses, recovered: result } = await recovered()
    expect([whole, losses, result.gaps, result.mended]).toEqual([truth.size, [], [], []])
    expect([result.whole, result.conversations]).toEqual([truth.size, truth.size])
  })

  it('copies the data that a flipped bit has left intact, and reports the rest (R6)', {
    timeout: size({ gate: 60_000, full: 3_600_000 }),
  }, async () => {
    const roll = dice(seed + 1)
    const flips = size({ gate: 12, full: 300 })
    let [damaged, lostMessages] = [0, 0]
    for (let n = 0; n < flips; n++) {
      const [at, bit] = [Math.floor(roll() * original.length), Math.floor(roll() * 8)]
      const flip = (bytes: Buffer) => {
        bytes[at]! ^= 1 << bit
        return undefined
      }
      damagedCopy(original, path, flip)
      const changed = await changedSince(truth, path)
      damagedCopy(original, path, flip)
      const { whole, losses } = await recovered()
      // Intact data is copied unchanged, whatever else is damaged.
      expect(whole, `seed ${seed}, byte ${at}, bit ${bit}`).toBeGreaterThanOrEqual(
        changed.size === truth.size ? truth.size - 1 : truth.size - changed.size,
      )
      if (changed.size > 0) damaged++
      lostMessages += losses.filter(({ kind }) => kind === 'lost' || kind === 'emptied').length
    }
    note('flips', flips)
    note('that changed a message', damaged)
    note('messages without their content', lostMessages)
  })

  it.each<[string, (bytes: Buffer) => Buffer | undefined]>([
    ['a header of garbage', bytes => void bytes.fill(0xa5, 0, 100)],
    ['a header of nothing', bytes => void bytes.fill(0, 0, 100)],
    ['another encoding in its header', bytes => void bytes.writeUInt32BE(2, 56)],
    ['a first page of nothing', bytes => void bytes.fill(0, 0, pageSize)],
    ['a first page of garbage', bytes => void bytes.fill(0x5a, 0, pageSize)],
    ['a damaged row in its list of tables', bytes => void damageRowOfTables(bytes)],
  ])('opens a file with %s, and copies it completely (R6)', async (_, damage) => {
    damagedCopy(original, path, damage)
    const { whole, recovered: result } = await recovered()
    expect(result.mended).not.toEqual([])
    expect(whole).toBe(truth.size)
  })

  it('copies the rest of a truncated file (R6)', async () => {
    const roll = dice(seed + 2)
    for (let n = 0; n < size({ gate: 2, full: 20 }); n++) {
      const left = Math.floor(original.length * (0.4 + roll() * 0.5))
      damagedCopy(original, path, bytes => bytes.subarray(0, left))
      const { whole, partly, gone, recovered: result } = await recovered()
      note(
        `cut to ${Math.round((left / original.length) * 100)} %: whole, partly, gone`,
        `${whole}, ${partly}, ${gone.length}`,
      )
      expect(result.mended.join()).toMatch(/cut off|within a page/)
    }
  })

  it('skips missing pages (R6)', {
    timeout: size({ gate: 60_000, full: 3_600_000 }),
  }, async () => {
    const roll = dice(seed + 3)
    const pages = original.length / pageSize
    let wholes = 0
    const rounds = size({ gate: 8, full: 200 })
    for (let n = 0; n < rounds; n++) {
      const page = 1 + Math.floor(roll() * (pages - 1))
      damagedCopy(original, path, bytes => void bytes.fill(0, page * pageSize, (page + 1) * pageSize))
      wholes += (await recovered()).whole
    }
    note('pages zeroed, one at a time', rounds)
    note('conversations copied completely', `${((wholes / rounds / truth.size) * 100).toFixed(1)} %`)
    expect(wholes / rounds).toBeGreaterThan(truth.size / 2)
  })

  it('works without indexes and without a log (R6)', async () => {
    damagedCopy(original, path, () => undefined)
    const db = new BetterSqlite3(path)
    db.exec('DROP INDEX skein_messages_seq; DROP INDEX skein_messages_id; DROP INDEX skein_messages_fork')
    db.close()
    expect((await recovered()).whole).toBe(truth.size)
    // The newest messages are only in the log; without it, the file is of an earlier moment.
    {
      await using store = await openSqliteStore(path.replace('damaged', 'logged'))
      await store.create({ title: 'only in the log' })
      damagedCopy(readFileSync(path.replace('damaged', 'logged')), path, () => undefined)
    }
    expect(statSync(path).size).toBeGreaterThanOrEqual(0)
    const to = join(place.path, 'no-log.db')
    await using target = await openSqliteStore(to)
    expect(await recoverFile(path, target)).toMatchObject({ messages: 0 })
  })

  it('skips several missing pages at once (R6)', { timeout: 3_600_000 }, async () => {
    const roll = dice(seed + 4)
    const pages = original.length / pageSize
    for (let n = 0; n < size({ gate: 1, full: 50 }); n++) {
      damagedCopy(original, path, bytes => {
        for (let k = 0; k < 10; k++) {
          const page = Math.floor(roll() * pages)
          bytes.fill(k % 2 === 0 ? 0 : 0xff, page * pageSize, (page + 1) * pageSize)
        }
        return undefined
      })
      await recovered()
    }
  })
})
