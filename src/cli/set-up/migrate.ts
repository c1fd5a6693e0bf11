import { existsSync } from 'node:fs'
import type { CommandHandler } from '../command-line/command.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { shownLocation } from '../store/store-location.ts'

/** `skein migrate`: migrates the store to the schema of this version, as opening it does, and prints the
 *  version. */
export const migrateCommand: CommandHandler = async (_given, context) => {
  const { target, isFile } = context.location()
  if (isFile && !existsSync(target)) {
    if (context.json)
      context.out.line(JSON.stringify({ store: shownLocation(context), before: null, schema: null }))
    else if (!context.quiet)
      context.err.line(`there is no store at ${shownLocation(context)} yet, and so nothing to migrate`)
    return exitCode.ok
  }
  const before = isFile ? await versionBefore(target) : null
  const store = await context.store()
  const schema = await store.schemaVersion()
  if (context.json) context.out.line(JSON.stringify({ store: shownLocation(context), before, schema }))
  else if (!context.quiet) {
    const { dot } = context.err.style.symbols
    const changed = before !== null && before < schema
    const was = changed ? `migrated from schema ${before} to ${schema}` : `schema ${schema}, up to date`
    const copy =
      changed && before > 0 ? ` ${dot} a copy of before: ${shownLocation(context)}.before-migration` : ''
    context.err.line(`${shownLocation(context)} ${dot} ${was}${copy}`)
  }
  return exitCode.ok
}

/** The schema version of the file, read without changing it. */
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
    // Opening the store reports what is wrong with the file.
    return null
  }
}
