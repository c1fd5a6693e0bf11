import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Client } from 'pg'
import { expect, inject, it, vi } from 'vitest'
import { createDatabase, dropDatabase, startPostgres } from './postgres.ts'

async function ask(url: string, sql: string): Promise<Record<string, unknown>> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows[0] ?? {}
  } finally {
    await client.end()
  }
}

function placeOf(url: string): string {
  return dirname(new URL(url).searchParams.get('host') ?? '')
}

it('gives each caller an empty database of a plain role', async () => {
  const url = inject('postgresUrl')
  const [one, two] = await Promise.all([createDatabase(url), createDatabase(url)])
  expect(one).not.toBe(two)
  const role = `select rolsuper, rolbypassrls, rolcreaterole from pg_roles where rolname = current_user`
  expect(await ask(one, role)).toEqual({ rolsuper: false, rolbypassrls: false, rolcreaterole: false })
  const tables = `select count(*)::int as n from pg_class where relnamespace = 'public'::regnamespace`
  expect(await ask(two, tables)).toEqual({ n: 0 })
  await Promise.all([dropDatabase(one, url), dropDatabase(two, url)])
  await expect(ask(one, 'select 1')).rejects.toMatchObject({ code: '3D000' })
})

it('waits for its commits to be written, as in production', async () => {
  expect(await ask(inject('postgresUrl'), 'show synchronous_commit')).toEqual({ synchronous_commit: 'on' })
})

it('uses the server that SKEIN_TEST_POSTGRES_URL names, and leaves no database on it', async () => {
  const url = inject('postgresUrl')
  vi.stubEnv('SKEIN_TEST_POSTGRES_URL', url)
  const postgres = await startPostgres()
  const fresh = await postgres.createDatabase()
  expect(placeOf(fresh)).toBe(placeOf(url))
  await postgres.stop()
  for (const gone of [postgres.url, fresh]) {
    await expect(ask(gone, 'select 1')).rejects.toMatchObject({ code: '3D000' })
  }
  expect(await ask(url, 'select 1 as one')).toEqual({ one: 1 })
})

it('leaves nothing behind when it is stopped', async () => {
  vi.stubEnv('SKEIN_TEST_POSTGRES_URL', undefined)
  const postgres = await startPostgres({ fsync: 'on' })
  expect(await ask(await postgres.createDatabase(), 'show fsync')).toEqual({ fsync: 'on' })
  await postgres.stop()
  await postgres.stop()
  await expect(ask(postgres.url, 'select 1')).rejects.toThrow()
  expect(existsSync(placeOf(postgres.url))).toBe(false)
})

it('leaves nothing behind when its starter is killed', async () => {
  vi.stubEnv('SKEIN_TEST_POSTGRES_URL', undefined)
  const module = new URL('postgres.ts', import.meta.url).href
  const script = `import { startPostgres } from '${module}'\nconsole.log((await startPostgres()).url)`
  const starter = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = await once(starter.stdout, 'data')
  const url = String(line).trim()
  const server = Number.parseInt(readFileSync(join(placeOf(url), 'data', 'postmaster.pid'), 'utf8'), 10)
  expect(process.kill(server, 0)).toBe(true)
  starter.kill('SIGKILL')
  await vi.waitFor(() => expect(existsSync(placeOf(url))).toBe(false), { timeout: 20_000 })
  expect(() => process.kill(server, 0)).toThrow('ESRCH')
})
