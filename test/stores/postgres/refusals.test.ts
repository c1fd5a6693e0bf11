import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { MisconfiguredError, SkeinError } from '../../../src/core/errors.ts'
import { openStore } from '../../../src/stores/open.ts'
import { type PostgresPool, postgresStore } from '../../../src/stores/postgres/index.ts'
import { say } from '../../../src/testing/contract/build.ts'
import { freshDatabase, openPool } from './database.ts'

const url = await freshDatabase()

/** The URL with another user, password, host or database. */
function changed(change: (url: URL) => void): string {
  const other = new URL(url)
  change(other)
  return other.href
}

/** The error of a store that cannot be opened. Neither it nor its causes may contain the password. */
async function refusal(target: string, password = ''): Promise<SkeinError> {
  const error: SkeinError = await openStore(target).then(
    () => expect.fail('it was opened'),
    one => one,
  )
  if (password !== '') {
    for (let one: unknown = error; one instanceof Error; one = one.cause) {
      expect(`${one.message} ${one.stack} ${JSON.stringify(one)}`).not.toContain(password)
    }
  }
  return error
}

function misconfigured(part: MisconfiguredError['part'], message: RegExp, hint: RegExp) {
  return {
    name: 'MisconfiguredError',
    code: 'misconfigured',
    part,
    message: expect.stringMatching(message),
    hint: expect.stringMatching(hint),
  }
}

/** The embedded server has a role with a password and without rights. Another server has not. */
const hasGuest =
  (await openPool(url).query(`SELECT FROM pg_roles WHERE rolname = 'skein_guest'`)).rowCount === 1

describe('a database that refuses', () => {
  const guest = (password: string) =>
    changed(other => {
      other.username = 'skein_guest'
      other.password = password
    })

  it.runIf(hasGuest)('reports a wrong password, without printing it (28P01)', async () => {
    expect(await refusal(guest('hunter2xyz'), 'hunter2xyz')).toMatchObject(
      misconfigured('login', /refused the login.*skein_guest/, /password in the URL/),
    )
  })

  it.runIf(hasGuest)('reports a missing password', async () => {
    expect(await refusal(guest(''))).toMatchObject(
      misconfigured('login', /refused the login/, /password in the URL/),
    )
  })

  it.runIf(hasGuest)('reports missing rights, and how to grant them (42501)', async () => {
    expect(await refusal(guest('let me in'), 'let me in')).toMatchObject(
      misconfigured('permission', /permission denied/, /GRANT USAGE ON SCHEMA skein/),
    )
  })

  it('reports an unknown role', async () => {
    const target = changed(other => {
      other.username = 'nobody_of_that_name'
    })
    expect(await refusal(target)).toMatchObject(misconfigured('login', /refused the login/, /pg_hba/))
  })

  it('reports a missing database, and how to create it (3D000)', async () => {
    const target = changed(other => {
      other.pathname = '/not_there'
    })
    expect(await refusal(target)).toMatchObject(
      misconfigured('database', /"not_there" does not exist/, /^Create it: createdb not_there$/),
    )
  })
})

describe('a server that cannot be reached', () => {
  it('is unavailable if it refuses the connection', async () => {
    const port = await closedPort()
    const error = await refusal(`postgres://ada:hunter2xyz@localhost:${port}/x`, 'hunter2xyz')
    expect(error).toMatchObject({
      code: 'unavailable',
      hint: expect.stringMatching(/^Is the server running/),
    })
    expect(error.message).toMatch(new RegExp(`cannot be reached: connect ECONNREFUSED .*${port}`))
  })

  it('is unavailable if its host is unknown', async () => {
    const error = await refusal('postgres://ada:hunter2xyz@host.invalid/x', 'hunter2xyz')
    expect(error).toMatchObject({
      code: 'unavailable',
      hint: expect.stringMatching(/^Check the host in the URL/),
    })
  })
})

describe('a connection pooler that mixes up connections', () => {
  const pooler = misconfigured('pooler', /connection pooler/, /transaction or session mode/)

  it('may lose prepared statements: the transaction is repeated (26000)', async () => {
    const pool = openPool(url, { max: 1 })
    const store = await postgresStore(pool)
    const { branch, conversation } = await store.create()
    const { head } = await store.append(branch, null, [say('one')])
    await pool.query('DEALLOCATE ALL')
    expect(await store.append(branch, head, [say('two')])).toMatchObject({ outcome: 'appended' })
    // All statements are lost, also the COMMIT.
    for (const title of ['one', 'two']) {
      await pool.query('DEALLOCATE ALL')
      await store.updateConversation(conversation.id, { title })
      expect((await store.getConversation(conversation.id)).title).toBe(title)
    }
  })

  it('may have parsed a statement for another client (42P05)', async () => {
    const [pool, other] = [openPool(url, { max: 1 }), openPool(url, { max: 1 })]
    const store = await postgresStore(pool)
    const { conversation } = await store.create()
    await store.updateConversation(conversation.id, { title: 'one' })
    const { rows } = await pool.query<{ name: string; statement: string }>(
      `SELECT name, statement FROM pg_prepared_statements WHERE name LIKE 'skein_%' AND statement ~ '^\\s*(SELECT|INSERT|UPDATE)'`,
    )
    expect(rows.length).toBeGreaterThan(2)
    for (const { name, statement } of rows) await other.query(`PREPARE ${name} AS ${statement}`)
    const second = await postgresStore(other, { schema: 'check' })
    await second.updateConversation(conversation.id, { title: 'two' })
    expect((await store.getConversation(conversation.id)).title).toBe('two')
  })

  it('is named if the connection is in a failed transaction of another client (25P02)', async () => {
    const pool = openPool(url, { max: 1 })
    const mixed: PostgresPool = {
      async connect() {
        const client = await pool.connect()
        await client.query('BEGIN')
        await client.query('SELECT 1/0').catch(() => undefined)
        return client
      },
    }
    await expect(postgresStore(mixed)).rejects.toMatchObject(pooler)
  })
})

it.each(['messages (id int)', 'schema_version (x int)'])(
  'refuses tables of another program in its schema, and touches nothing: %s',
  async table => {
    const target = await freshDatabase()
    const pool = openPool(target)
    await pool.query(`CREATE SCHEMA skein; CREATE TABLE skein.${table}`)
    expect(await refusal(target)).toMatchObject(
      misconfigured('tables', /are not Skein's/, /another database/),
    )
    const { rows } = await pool.query(
      `SELECT relname FROM pg_class WHERE relnamespace = 'skein'::regnamespace`,
    )
    expect(rows).toEqual([{ relname: table.split(' ')[0] }])
  },
)

it('does not keep a process alive that forgets to close its store', { timeout: 60_000 }, async () => {
  const script = `
    const { openStore } = await import(${JSON.stringify(join(import.meta.dirname, '../../../src/index.ts'))})
    const store = await openStore(${JSON.stringify(url)})
    const { branch } = await store.create()
    await store.append(branch, null, [{ role: 'user', content: 'hello' }])
    console.log('stored')`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
    // The test fails if it is killed: it should end by itself.
    timeout: 30_000,
  })
  const [[said], [code]] = await Promise.all([once(child.stdout, 'data'), once(child, 'exit')])
  expect([String(said), code]).toEqual(['stored\n', 0])
})

async function closedPort(): Promise<number> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

it('says that the store is closed', async () => {
  const store = await openStore(await freshDatabase())
  await store.close()
  await expect(store.countConversations()).rejects.toMatchObject({
    code: 'unavailable',
    message: 'the store is closed',
  })
})
