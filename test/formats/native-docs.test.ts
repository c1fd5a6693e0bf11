import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { ConversationId } from '../../src/core/ids.ts'
import { fieldsOf, nativeVersion } from '../../src/formats/native/format.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'
import { fileOf, recordsOf, takeFile } from './native-file.ts'

const page = readFileSync(join(import.meta.dirname, '../../docs/native-format.md'), 'utf8')
const example = /```jsonl\n([\s\S]*?)```/.exec(page)![1]!

it('imports the documented example, and exports it again unchanged', async () => {
  await using store = await openSqliteStore(':memory:')
  const { bad, notes, tally } = await takeFile(store, example)
  expect([bad, notes]).toEqual([[], []])
  expect(tally.added).toEqual({ conversation: 1, message: 2, tombstone: 1, turn: 1, branch: 1 })
  const id = '3f2b8c1e-5d64-4a0f-9e7b-1c2d3e4f5a6b' as ConversationId
  const [, ...lines] = example.split('\n')
  const [, ...again] = fileOf(await recordsOf(store, [id])).split('\n')
  expect(again).toEqual(lines)
  expect(example).toContain(`"version":"${nativeVersion.major}.${nativeVersion.minor}"`)
})

it('documents every kind of record with each of its fields', () => {
  const rows = new Map(
    Array.from(page.matchAll(/^\| `(\w+)` \| (.*) \|$/gm), ([, kind, text]) => [kind!, text!]),
  )
  for (const [kind, fields] of Object.entries(fieldsOf)) {
    const named = new Set(Array.from(rows.get(kind)?.matchAll(/`(\w+)`/g) ?? [], ([, name]) => name))
    const missing = [...fields].filter(field => field !== 'kind' && !named.has(field))
    expect({ kind, missing }).toEqual({ kind, missing: [] })
  }
})
