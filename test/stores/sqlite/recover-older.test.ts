import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { expect, it, onTestFinished } from 'vitest'
import { openStore } from '../../../src/stores/open.ts'
import { recoverFile } from '../../../src/stores/sqlite/recover/recover-file.ts'
import { recordsOf, releasedVersions, truthOf, unpackSqlite } from '../../released/released.ts'

/** The file of a released version. */
function fileOf(version: number): string {
  const folder = mkdtempSync(join(tmpdir(), 'recover-older-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'old.db')
  unpackSqlite(version, file)
  return file
}

it.each(releasedVersions.sqlite)(
  'copies an intact file of schema version %i and reports nothing but its access token',
  async version => {
    await using target = await openStore(':memory:')
    const { losses, gaps, mended, tasks } = await recoverFile(fileOf(version), target)
    expect({ losses, gaps, mended, tasks }).toEqual({
      losses: { lost: 0, emptied: 0, rehung: 0, other: 0 },
      gaps: version < 7 ? [] : [{ table: 'skein_tokens', reason: expect.stringMatching(/^1 access token /) }],
      mended: [],
      tasks: version < 7 ? 0 : 1,
    })
    const { ids, records } = truthOf('sqlite', version)
    expect(await recordsOf(target, ids)).toEqual(records)
  },
)

it.each([
  ['its number is damaged', `UPDATE skein_state SET value = 3 WHERE name = 'schema'`],
  ['its number is right', `SELECT 1`],
])('reports tables that are gone as lost if %s', async (_, damage) => {
  const file = fileOf(8)
  const db = new BetterSqlite3(file)
  db.exec('DROP TABLE skein_tasks')
  db.exec(damage)
  db.close()
  await using target = await openStore(':memory:')
  const { gaps } = await recoverFile(file, target)
  expect(gaps.map(({ table }) => table)).toContain('skein_tasks')
})
