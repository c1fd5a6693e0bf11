import { expect, it } from 'vitest'
import type { ConversationId } from '../../src/core/ids.ts'
import type { Store } from '../../src/core/ports.ts'
import { type SourcedRecord, takeIn } from '../../src/core/take-in.ts'
import { openPostgresStore } from '../../src/stores/postgres/index.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'
import { fileOf, recordsOf } from '../formats/native-file.ts'
import { fillWithEverything, steadySource } from './everything.ts'
import { freshDatabase } from './postgres/database.ts'

/** Copies as the command does. */
async function copy(from: Store, to: Store, ids: readonly ConversationId[]) {
  const bad: string[] = []
  const tally = await takeIn(to, records(), {
    onSpecial: ({ record }, written) => bad.push(`${record.kind} ${JSON.stringify(written)}`),
  })
  expect(bad).toEqual([])
  return tally

  async function* records(): AsyncGenerator<SourcedRecord> {
    for (const id of ids) {
      for await (const record of from.readRecords(id)) {
        if (record.kind === 'unreadable') throw new Error(record.reason)
        yield { record, file: '', line: 0 }
      }
    }
  }
}

const contents = async (store: Store, ids: readonly ConversationId[]) => fileOf(await recordsOf(store, ids))

it('a full store is unchanged after a copy to PostgreSQL and back to SQLite', async () => {
  await using first = await openSqliteStore(':memory:', { source: steadySource() })
  const { ids } = await fillWithEverything(first)
  const truth = await contents(first, ids)
  await using second = await openPostgresStore(await freshDatabase(), {
    source: steadySource(Date.UTC(2026, 1, 1)),
  })
  await using third = await openSqliteStore(':memory:', { source: steadySource(Date.UTC(2026, 2, 1)) })
  const there = await copy(first, second, ids)
  expect(Object.keys({ ...there.present, ...there.advanced, ...there.refused })).toEqual([])
  expect(await contents(second, ids)).toBe(truth)
  await copy(second, third, ids)
  expect(await contents(third, ids)).toBe(truth)
  // Copying back into the source adds nothing.
  const back = await copy(third, first, ids)
  expect({ ...back.added, ...back.advanced, ...back.refused }).toEqual({})
  expect(await contents(first, ids)).toBe(truth)
})
