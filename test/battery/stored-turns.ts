import BetterSqlite3 from 'better-sqlite3'
import { expect } from 'vitest'
import { textOf } from '../../src/core/message.ts'
import { pathOf } from '../../src/core/path.ts'
import type { Store } from '../../src/core/ports.ts'
import { turnLength, words } from './writer.ts'

/** What is stored of a writer's conversation. */
export interface StoredTurns {
  /** The complete turns, from the first without a gap. */
  readonly turns: number
  /** 1 if a part of a turn follows them. */
  readonly half: number
}

/** The stored turns of a writer, none if its conversation is not stored. Fails if anything else is. */
export async function storedTurns(store: Store, writer: string): Promise<StoredTurns> {
  const found = await store.findByKey(writer)
  if (!found) return { turns: 0, half: 0 }
  const { branch, conversation } = found
  const path = branch.head === null ? [] : await pathOf(store, branch.head)
  // No message is outside the path, and the path has no gap.
  expect(path.map(({ seq }) => seq)).toEqual(path.map((_, i) => i))
  expect(conversation.messages).toBe(path.length)
  const said = path.map(textOf)
  const expected = said.map((_, i) => words(writer, Math.floor(i / turnLength), i % turnLength))
  expect(said).toEqual(expected)
  return { turns: Math.floor(said.length / turnLength), half: said.length % turnLength === 0 ? 0 : 1 }
}

/** Fails if SQLite finds damage in a file. */
export function expectSound(file: string): void {
  const db = new BetterSqlite3(file)
  expect(db.pragma('integrity_check', { simple: true })).toBe('ok')
  expect(db.pragma('foreign_key_check')).toEqual([])
  db.close()
}
