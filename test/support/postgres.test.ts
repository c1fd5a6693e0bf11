import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Client } from 'pg'
import { expect, it, vi } from 'vitest'
import { createDatabase, dropDatabase, makePlace, startOwnPostgres, startPostgres } from './postgres.ts'
import { askPostgresUrl, postgresUrl, tellPostgresUrl } from './postgres-url.ts'

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
  const url = await postgresUrl()
  const [one, two] = await Promise.all([createDatabase(url), createDatabase(url)])
  expect(one).not.toBe(two)
  const role = `select rolsuper, rolbypassrls, rolcreaterole from pg_roles where rolname = current_user`
  expect(await ask(one, role)).toEqual({ rolsuper: false, rolbypassrls: false, rolcreaterole: false })
  const tables = `select count(*)::int as n from pg_class where relnamespace = 'public'::regnamespace`
  expect(await ask(two, tables)).toEqual({ n: 0 })
  await Promise.all([dropDatabase(one, url), dropDatabase(two, url)])
  await expect(ask(one, 'select 1')).rejects.toMatchObject({ code: '3D000' })
})

it('has synchronous commits, as in production', async () => {
  expect(await ask(await postgresUrl(), 'show synchronous_commit')).toEqual({ synchronous_commit: 'on' })
})

it('uses the server that SKEIN_TEST_POSTGRES_URL names, and leaves no database on it', async () => {
  const url = await postgresUrl()
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

it('starts when it is needed, and leaves nothing behind when it is stopped', async () => {
  const postgres = await startOwnPostgres({ fsync: 'on', lazy: true })
  await expect(ask(postgres.url, 'select 1')).rejects.toMatchObject({ code: 'ENOENT' })
  await postgres.back()
  expect(await ask(await postgres.createDatabase(), 'show fsync')).toEqual({ fsync: 'on' })
  await postgres.stop()
  await postgres.stop()
  await expect(ask(postgres.url, 'select 1')).rejects.toThrow()
  expect(existsSync(placeOf(postgres.url))).toBe(false)
})

it('leaves nothing behind when it was never needed', async () => {
  const postgres = await startOwnPostgres({ lazy: true })
  expect(existsSync(placeOf(postgres.url))).toBe(true)
  await postgres.stop()
  expect(existsSync(placeOf(postgres.url))).toBe(false)
})

it('starts once for all processes that ask for it, and not before', async () => {
  const place = makePlace()
  const started: string[] = []
  const start = async () => `url ${started.push('once')}`
  using _ = await tellPostgresUrl(join(place, 'socket'), start)
  expect(started).toEqual([])
  const asked = [1, 2, 3].map(() => askPostgresUrl(join(place, 'socket')))
  expect(await Promise.all(asked)).toEqual(['url 1', 'url 1', 'url 1'])
  rmSync(place, { recursive: true })
})

it('reports to each process why it did not start', async () => {
  const place = makePlace()
  using _ = await tellPostgresUrl(join(place, 'socket'), () => Promise.reject(new Error('no binaries')))
  await expect(askPostgresUrl(join(place, 'socket'))).rejects.toThrow('no binaries')
  await expect(askPostgresUrl(join(place, 'socket'))).rejects.toThrow('no binaries')
  rmSync(place, { recursive: true })
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
