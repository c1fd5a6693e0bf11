import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { strangeEnvironment } from './place.ts'
import { makePlace, startPostgres } from './postgres.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    readonly postgresUrl: string
  }
}

/**
 * Gives the run a place of its own and one PostgreSQL; the workers inherit the environment. PostgreSQL's
 * guard removes the place at the end, however the run ends.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const place = makePlace()
  const remove = () => rmSync(place, { recursive: true, force: true })
  const postgres = await startPostgres({ directory: place }).catch(error => {
    remove()
    throw error
  })
  const strange = strangeEnvironment(place, process.env)
  const isOurs = (name: string) => name in strange || name.startsWith('SKEIN_BATTERY')
  for (const name of Object.keys(process.env)) if (!isOurs(name)) delete process.env[name]
  // The tests start hundreds of processes of ours; with compiled modules at hand each takes a third of the time.
  Object.assign(process.env, strange, { NODE_COMPILE_CACHE: join(place, 'compiled') })
  project.provide('postgresUrl', postgres.url)
  return async () => {
    await postgres.stop()
    remove()
  }
}
