import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { describe, expect, it } from 'vitest'
import { SkeinError } from '../../src/core/errors.ts'
import type { Finding } from '../../src/core/finding.ts'
import type { Store } from '../../src/core/ports.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'
import { fillFile, readEverything } from '../stores/read-everything.ts'
import { changedIn, damagedCopy, dice, fill, folder, type Truth } from './damaged-file.ts'
import { note } from './note.ts'
import { size } from './size.ts'

const seed = Number(process.env.DAMAGE_SEED ?? 20_261_116)

type Found = Pick<Finding, 'severity' | 'conversation' | 'what'>

/** The findings of a check, and the actual changes of the file; a file that cannot be opened is a finding
 *  too. */
async function lookAt(path: string, truth: Truth) {
  let store: Store
  try {
    store = await openSqliteStore(path)
  } catch (error) {
    const found: Found = { severity: 'damage', conversation: null, what: String(error) }
    return { findings: [found], changed: new Set(truth.keys()) }
  }
  await using _ = store
  const findings: Found[] = []
  try {
    await store.verify({ onFinding: finding => findings.push(finding) })
  } catch (error) {
    throw new Error('a check of a damaged file has to come to its end', { cause: error })
  }
  return {
    findings: findings.filter(({ severity }) => severity !== 'note'),
    changed: await changedIn(truth, store),
  }
}

/** The findings of SQLite itself. */
function integrityCheck(path: string): boolean {
  try {
    const db = new BetterSqlite3(path)
    try {
      return db.pragma('integrity_check', { simple: true }) !== 'ok'
    } finally {
      db.close()
    }
  } catch {
    return true
  }
}

describe('a damaged file', () => {
  it('is detected: verify finds every flipped bit that changes a message, SQLite itself almost none (R6)', {
    timeout: size({ gate: 240_000, full: 3_600_000 }),
  }, async () => {
    using place = folder()
    const truth = await fill(join(place.path, 'whole.db'), 2 * 2 ** 20, seed)
    const original = readFileSync(join(place.path, 'whole.db'))
    const path = join(place.path, 'flipped.db')
    const roll = dice(seed)
    const flips = size({ gate: 200, full: 1_000 })
    let [changing, found, bySqlite, falsely] = [0, 0, 0, 0]
    const missed: string[] = []
    for (let n = 0; n < flips; n++) {
      const [at, bit] = [Math.floor(roll() * original.length), Math.floor(roll() * 8)]
      const flip = (bytes: Buffer) => {
        bytes[at]! ^= 1 << bit
        return undefined
      }
      damagedCopy(original, path, flip)
      const { findings, changed } = await lookAt(path, truth)
      if (changed.size === 0) continue
      changing++
      if (integrityCheck(path)) bySqlite++
      if (findings.length > 0) found++
      else missed.push(`byte ${at}, bit ${bit}`)
      // Intact conversations are not reported: a conversation that is named as damaged has changed.
      const blamed = findings.filter(
        ({ severity, conversation }) => severity === 'damage' && conversation !== null,
      )
      if (blamed.some(({ conversation }) => !changed.has(conversation as never))) falsely++
    }
    note('flips', flips)
    note('changed a message', changing)
    note('found by verify', found)
    note('found by integrity_check', bySqlite)
    expect(missed, `seed ${seed}`).toEqual([])
    expect(changing).toBeGreaterThan(flips / 4)
    // The control: the file's own check is not enough.
    expect(bySqlite).toBeLessThan(changing / 2)
    expect(falsely).toBe(0)
  })

  it('is never read without an error that says so, and verify finds what a read reports (R6)', {
    timeout: size({ gate: 240_000, full: 3_600_000 }),
  }, async () => {
    using place = folder()
    const { file, everything } = await fillFile()
    const path = join(place.path, 'flipped.db')
    const roll = dice(seed)
    // Most of a small file is empty.
    const used = [...file.keys()].filter(at => file[at] !== 0)
    const flips = size({ gate: 400, full: 4_000 })
    const faults: string[] = []
    let [reported, opened] = [0, 0]
    for (let n = 0; n < flips; n++) {
      const [at, bit] = [used[Math.floor(roll() * used.length)]!, Math.floor(roll() * 8)]
      damagedCopy(file, path, bytes => {
        bytes[at]! ^= 1 << bit
        return undefined
      })
      const flip = `byte ${at}, bit ${bit}`
      let store: Store
      try {
        store = await openSqliteStore(path)
      } catch (error) {
        if (!(error instanceof SkeinError)) faults.push(`${flip}: opening: ${error}`)
        continue
      }
      await using _ = store
      opened++
      const { corrupt, other } = await readEverything(store, everything)
      const { findings } = await store.verify()
      if (corrupt > 0) reported++
      if (corrupt > 0 && findings.damage + findings.repairable === 0) faults.push(`${flip}: verify`)
      const wrong = other.filter(error => !isHonest(error))
      if (wrong.length > 0) faults.push(`${flip}: ${wrong[0]}`)
    }
    note('flips', flips)
    note('opened', opened)
    note('reported by a read', reported)
    expect(faults, `seed ${seed}`).toEqual([])
    expect(reported).toBeGreaterThan(0)
  })
})

/** A flipped bit of an id or a key leads to nothing. */
function isHonest(error: string): boolean {
  return /: (NotFound|AmbiguousId)Error: /.test(error)
}
