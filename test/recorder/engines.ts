import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { freshDatabase } from '../stores/postgres/database.ts'

export const engines = ['sqlite', 'postgres'] as const

/** A target that several processes can open: a file in a folder of the test, or a database. */
export async function freshTarget(engine: (typeof engines)[number]): Promise<string> {
  return engine === 'postgres' ? freshDatabase() : temporaryFile()
}

export function temporaryFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'skein-recorder-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'conversations.db')
}
