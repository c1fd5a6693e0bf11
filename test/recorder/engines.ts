import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { freshDatabase } from '../stores/postgres/database.ts'

export const engines = ['sqlite', 'postgres'] as const

/** Where a store can be opened by several processes: a file in a folder that goes with the test, or a database. */
export async function freshTarget(engine: (typeof engines)[number]): Promise<string> {
  return engine === 'postgres' ? freshDatabase() : temporaryFile()
}

export function temporaryFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'skein-recorder-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'conversations.db')
}
