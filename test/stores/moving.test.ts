import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import type { ConversationId } from '../../src/core/ids.ts'
import type { Store } from '../../src/core/ports.ts'
import { type SourcedRecord, takeIn } from '../../src/core/take-in.ts'
import { openPostgresStore } from '../../src/stores/postgres/index.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'
import { fileOf, recordsOf } from '../formats/native-file.ts'
import { fillWithEverything, steadySource } from './everything.ts'
import { freshDatabase } from './postgres/database.ts'

/** Copies as the command does. */
async function copy(from: Store, to: Pick<Store, 'writeRecords'>, ids: readonly ConversationId[]) {
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

it('a copy to PostgreSQL whose process was killed in the middle is completed by another one', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'moving-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'source.db')
  const url = await freshDatabase()
  await using source = await openSqliteStore(file, { indexing: 'manual' })
  const { conversation, branch } = await source.create({ key: 'long' })
  let head = branch.head
  for (let turn = 0; turn < 24; turn++) {
    const messages = Array.from(
      { length: 250 },
      (_, i) => ({ role: 'user', content: `${turn} ${i}` }) as const,
    )
    head = (await source.append(branch, head, messages, { turn: { key: `t${turn}`, step: 0 } })).head
  }
  const truth = await contents(source, [conversation.id])

  const program = fileURLToPath(new URL('copy-process.ts', import.meta.url))
  const child = spawn(process.execPath, [program, file, url, conversation.id, '5000'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  await once(child.stdout, 'data')
  child.kill('SIGKILL')
  expect(await ended).toEqual([null, 'SIGKILL'])

  await using target = await openPostgresStore(url, { indexing: 'manual' })
  const before = await target.getConversation(conversation.id)
  expect(before.messages).toBeGreaterThan(0)
  expect(before.messages).toBeLessThan(6_000)
  const { added = {}, present = {} } = await copy(source, target, [conversation.id])
  expect([added.message, present.message]).toEqual([6_000 - before.messages, before.messages])
  expect(await contents(target, [conversation.id])).toBe(truth)
  expect(await target.verify()).toMatchObject({ findings: { damage: 0, repairable: 0, note: 0 } })
})

it('a transfer stops at the first transaction that fails, and none is written at the same time', async () => {
  await using source = await openSqliteStore(':memory:', { indexing: 'manual' })
  await using target = await openSqliteStore(':memory:', { indexing: 'manual' })
  const { conversation, branch } = await source.create()
  const messages = Array.from({ length: 9_000 }, (_, i) => ({ role: 'user', content: `${i}` }) as const)
  await source.append(branch, null, messages)
  let calls = 0
  let running = 0
  const failing: Pick<Store, 'writeRecords'> = {
    async writeRecords(records) {
      expect(++running).toBe(1)
      if (++calls === 2) throw new Error('the second one')
      const outcomes = await target.writeRecords(records)
      running--
      return outcomes
    },
  }
  await expect(copy(source, failing, [conversation.id])).rejects.toThrow('the second one')
  expect(calls).toBe(2)
})
