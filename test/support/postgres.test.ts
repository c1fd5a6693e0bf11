import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
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

it('leaves nothing behind when it is stopped', async () => {
  const postgres = await startPostgres({ fsync: 'on' })
  expect(await ask(await postgres.createDatabase(), 'show fsync')).toEqual({ fsync: 'on' })
  await postgres.stop()
  await postgres.stop()
  await expect(ask(postgres.url, 'select 1')).rejects.toThrow()
  expect(existsSync(placeOf(postgres.url))).toBe(false)
})

it('leaves nothing behind when its starter is killed', async () => {
  const module = new URL('postgres.ts', import.meta.url).href
  const script = `import { startPostgres } from '${module}'\nconsole.log((await startPostgres()).url)`
  const starter = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = await once(starter.stdout, 'data')
  const url = String(line).trim()
  const { pid } = await ask(url, `select pg_backend_pid() as pid`)
  starter.kill('SIGKILL')
  await vi.waitFor(() => expect(existsSync(placeOf(url))).toBe(false), { timeout: 20_000 })
  expect(() => process.kill(Number(pid), 0)).toThrow('ESRCH')
})
