import { chmodSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { makePlace, startPostgres } from './postgres.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    readonly postgresUrl: string
  }
}

/**
 * Gives the run a place of its own and one PostgreSQL. The workers inherit the environment, so that no test
 * can lean on the machine's home, time zone, language, database or keys. PostgreSQL's guard removes the place
 * at the end, however the run ends.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const place = makePlace()
  const given = process.env.SKEIN_TEST_POSTGRES_URL
  for (const name of Object.keys(process.env)) {
    if (/^(PG|LC_|LANGUAGE$|XDG_|SKEIN_)|_API_KEY$/.test(name)) delete process.env[name]
  }
  for (const [name, folder] of Object.entries(folders)) {
    process.env[name] = join(place, folder)
    mkdirSync(join(place, folder), { recursive: true, mode: 0o700 })
  }
  chmodSync(join(place, folders.TMPDIR), 0o1777) // as /tmp is: some tests have a child under another uid
  Object.assign(process.env, { TZ: 'Asia/Kathmandu', LANG: 'C' })
  if (given) process.env.SKEIN_TEST_POSTGRES_URL = given

  const postgres = await startPostgres({ directory: place })
  project.provide('postgresUrl', postgres.url)
  return async () => {
    await postgres.stop()
    rmSync(place, { recursive: true, force: true })
  }
}

const folders = {
  HOME: 'home',
  XDG_CONFIG_HOME: 'home/.config',
  XDG_DATA_HOME: 'home/.local/share',
  XDG_STATE_HOME: 'home/.local/state',
  XDG_CACHE_HOME: 'home/.cache',
  XDG_RUNTIME_DIR: 'run',
  TMPDIR: 'tmp',
} as const
