import type { Database } from 'better-sqlite3'
import { fullPathOf } from './checkpoints.ts'
import { type ChildOptions, runChildScript } from './child-script.ts'

/** `merge` removes deleted words from the search index, `tidy` merges its segments as far as searches need
 *  it, `optimize` makes it one segment, `vacuum` rewrites the file. `run` is a transaction of these
 *  statements. */
export type RewriteStep = 'merge' | 'tidy' | 'optimize' | 'vacuum' | { readonly run: readonly string[] }

/** `remove-traces.ts` has the same steps for a small file, with comments. Between two parts of `tidy`, other
 *  processes can write. */
const script = `
  const [driver, file, json] = process.argv.slice(1)
  const db = new (require(driver))(file, { fileMustExist: true, timeout: 5000 })
  const optimize = () => db.exec("INSERT INTO skein_search (skein_search) VALUES ('optimize')")
  const merge = () => {
    const tombstone = db.prepare('SELECT 1 FROM skein_search_data WHERE id >= 1 << 53 LIMIT 1')
    const some = db.prepare("INSERT INTO skein_search (skein_search, rank) VALUES ('merge', -256)")
    const total = db.prepare('SELECT total_changes()').pluck()
    while (tombstone.get()) {
      const before = total.get()
      some.run()
      if (total.get() - before >= 2) continue
      optimize()
      return
    }
  }
  const tidy = () => {
    db.pragma('synchronous = NORMAL')
    const some = db.prepare("INSERT INTO skein_search (skein_search, rank) VALUES ('merge', 64)")
    const total = db.prepare('SELECT total_changes()').pluck()
    const idle = new Int32Array(new SharedArrayBuffer(4))
    for (;;) {
      const before = total.get()
      some.run()
      if (total.get() - before < 2) return
      Atomics.wait(idle, 0, 0, 3)
    }
  }
  const run = statements => db.transaction(() => statements.forEach(sql => db.exec(sql))).immediate()
  const work = { merge, tidy, optimize, vacuum: () => db.exec('VACUUM') }
  let error
  try {
    db.pragma('secure_delete = ON')
    for (const step of JSON.parse(json)) step.run ? run(step.run) : work[step]()
    if (json !== '["tidy"]') db.pragma('wal_checkpoint(TRUNCATE)')
  } catch ({ message, code }) {
    error = { message, code: String(code) }
  }
  process.stdout.write(JSON.stringify({ error }))`

/** Runs steps that rewrite large parts of a file in a process of their own, in order, and copies the log
 *  into the file. Writers wait meanwhile, this process does not. Returns whether they ran there. Throws the
 *  error of a step. */
export async function rewriteInChild(
  db: Database,
  steps: readonly RewriteStep[],
  signal: AbortSignal,
  options: ChildOptions = {},
): Promise<boolean> {
  const output = await runChildScript(script, [fullPathOf(db), JSON.stringify(steps)], { signal, ...options })
  if (output === null) return false
  const { error } = JSON.parse(output) as { error?: { message: string; code: string } }
  if (error) throw Object.assign(new Error(error.message), { code: error.code })
  return true
}
