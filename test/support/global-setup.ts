import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { strangeEnvironment } from './place.ts'
import { borrowPostgres, makePlace, type Postgres, startOwnPostgres } from './postgres.ts'
import { tellPostgresUrl } from './postgres-url.ts'

/**
 * Gives the run a directory of its own, an environment without the machine's settings, and one PostgreSQL,
 * which starts when the first worker asks for it. The workers inherit the environment. PostgreSQL's guard
 * removes the directory at the end, however the run ends.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const place = makePlace()
  const remove = () => rmSync(place, { recursive: true, force: true })
  const own = await startOwnPostgres({ directory: place, lazy: true }).catch(error => {
    remove()
    throw error
  })
  let borrowed: Promise<Postgres> | undefined
  const given = process.env.SKEIN_TEST_POSTGRES_URL
  const socket = join(place, 'postgres-url')
  const teller = await tellPostgresUrl(socket, async () => {
    if (!given) return own.back().then(() => own.url)
    borrowed = borrowPostgres(given)
    return (await borrowed).url
  })
  const strange = strangeEnvironment(place, process.env)
  const isOurs = (name: string) => name in strange || name.startsWith('SKEIN_BATTERY')
  for (const name of Object.keys(process.env)) if (!isOurs(name)) delete process.env[name]
  // The tests start hundreds of processes of ours; with compiled modules at hand each takes a third of the
  // time. `test/cli/built-command.ts` builds the command into its folder when a test needs it.
  Object.assign(process.env, strange, {
    NODE_COMPILE_CACHE: join(place, 'compiled'),
    SKEIN_TEST_COMMAND: join(place, 'command'),
  })
  project.provide('postgresSocket', socket)
  return async () => {
    teller[Symbol.dispose]()
    await (await borrowed?.catch(() => undefined))?.stop()
    await own.stop()
    remove()
  }
}
