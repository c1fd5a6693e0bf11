import { existsSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { pgbouncer, startPgbouncer } from '../../test/support/pgbouncer.ts'
import { strangeEnvironment } from '../../test/support/place.ts'
import { startPostgres } from '../../test/support/postgres.ts'
import { root, run } from './command.ts'

/** Runs `project/findings.mjs` in a project with the packed file, on PostgreSQL and, if the machine has it,
 *  behind PgBouncer. Returns the number of checks. */
export async function checkFindings(project: string): Promise<number> {
  // Not installed: the bundlers are tried without the optional peers.
  const ai = join(project, 'node_modules/ai')
  if (!existsSync(ai)) symlinkSync(join(root, 'node_modules/ai'), ai)
  const server = await startPostgres()
  try {
    const url = await server.createDatabase()
    await using pooler = pgbouncer === undefined ? null : await startPgbouncer(url)
    const args = ['--expose-gc', 'findings.mjs', url, ...(pooler === null ? [] : [pooler.through(url)])]
    const env = strangeEnvironment(join(project, 'findings'), process.env)
    const lines = (await run(process.execPath, args, { cwd: project, env })).trim().split('\n')
    for (const line of lines) if (line.includes('not run')) console.log(`check: ${line}`)
    return lines.length
  } finally {
    await server.stop()
  }
}
