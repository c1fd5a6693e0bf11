import { existsSync } from 'node:fs'
import type { Run } from '../command-line/command.ts'
import { exit } from '../command-line/exit-code.ts'
import { shownTarget } from '../store/store-location.ts'

/** Brings the store to this version's schema, and says which that is. Opening a store does the same. */
export const migrate: Run = async (_given, world) => {
  const { target, isFile } = world.place()
  if (isFile && !existsSync(target)) {
    if (world.json) world.out.line(JSON.stringify({ store: shownTarget(world), before: null, schema: null }))
    else if (!world.quiet)
      world.err.line(`there is no store at ${shownTarget(world)} yet, and so nothing to migrate`)
    return exit.ok
  }
  const before = isFile ? await versionBefore(target) : null
  const store = await world.store()
  const schema = await store.schemaVersion()
  if (world.json) world.out.line(JSON.stringify({ store: shownTarget(world), before, schema }))
  else if (!world.quiet) {
    const { dot } = world.err.style.symbols
    const changed = before !== null && before < schema
    const was = changed
      ? `migrated from schema ${before} to ${schema}`
      : `schema ${schema}, the newest that I know`
    const copy =
      changed && before > 0 ? ` ${dot} a copy of before: ${shownTarget(world)}.before-migration` : ''
    world.err.line(`${shownTarget(world)} ${dot} ${was}${copy}`)
  }
  return exit.ok
}

/** The version in the file, read without changing it. */
async function versionBefore(file: string): Promise<number | null> {
  const [{ default: BetterSqlite3 }, { schemaVersion }] = await Promise.all([
    import('better-sqlite3'),
    import('../../stores/sqlite/migrate.ts'),
  ])
  try {
    const db = new BetterSqlite3(file, { readonly: true })
    try {
      return schemaVersion(db)
    } finally {
      db.close()
    }
  } catch {
    // Opening the store itself says what is wrong with the file.
    return null
  }
}
