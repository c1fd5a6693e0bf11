import { readdirSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { findStore } from '../../../src/cli/store/store-location.ts'
import { home } from '../skein.ts'

// Many processes on few cores.
vi.setConfig({ testTimeout: 120_000 })

const secret = 'hunter2xyz'

describe('--db and SKEIN_DB', () => {
  it.each([
    ['x:y', 'unknown URL scheme "x:"'],
    ['mysql://x', 'unknown URL scheme "mysql:"'],
    [`postgress://ada:${secret}@db/app`, 'unknown URL scheme "postgress:"'],
    [`ada:${secret}@db/app`, 'unknown URL scheme "ada:"'],
    [`postgres://ada:${secret}/x@db/app`, 'is not a valid PostgreSQL URL'],
    ['', 'is empty'],
    ['  ', 'is empty'],
    [' a.db', 'has a blank at its beginning or end'],
  ])('refuse %j, without a file and without quoting it (B18)', async (db, reason) => {
    using here = home()
    const runs = [
      await here.skein([`--db=${db}`, 'ls']),
      await here.skein(['ls', '--json', '--db', db]),
      // An empty variable counts as not set.
      ...(db === '' ? [] : [await here.skein(['config'], { env: { SKEIN_DB: db } })]),
      await here.skein(['recover', db]),
      await here.skein(['backup', db]),
      await here.skein(['copy', db, 'b.db']),
    ]
    for (const { code, stdout, stderr } of runs) {
      expect([code, stdout]).toEqual([2, ''])
      expect(stderr.replaceAll('\\"', '"')).toContain(reason)
      expect(stderr).not.toContain(secret)
    }
    expect(readdirSync(here.cwd)).toEqual([])
  })

  it('take file: and sqlite: URLs, and a name with a colon in a folder', async () => {
    using here = home()
    for (const db of [`file://${here.cwd}/a.db`, 'SQLITE:b.db', './c:d.db']) {
      expect(await here.skein(['-q', '--db', db, 'hello'])).toMatchObject({ code: 0 })
    }
    expect(readdirSync(here.cwd).sort()).toEqual(['a.db', 'b.db', 'c:d.db'])
    expect((await here.skein(['ls'], { env: { SKEIN_DB: 'file:a.db' } })).stdout).toContain('hello')
  })
})

describe("the user's own store", () => {
  it('is below the home folder of the account if HOME is empty or relative (B18)', async () => {
    const own = join(userInfo().homedir, '.local/share/skein/conversations.db')
    for (const HOME of ['', '.', 'x']) {
      expect(findStore(undefined, { HOME }, '/nowhere')).toMatchObject({ target: own, kind: 'user' })
      expect(findStore(undefined, { HOME, XDG_DATA_HOME: 'y' }, '/nowhere')).toMatchObject({ target: own })
    }
    expect(findStore(undefined, { HOME: '/home/ada' }, '/nowhere').target).toBe(
      '/home/ada/.local/share/skein/conversations.db',
    )
    using here = home()
    const env = { HOME: '', XDG_DATA_HOME: undefined, XDG_CONFIG_HOME: undefined }
    const { stdout } = await here.skein(['config', '--json'], { env })
    expect(JSON.parse(stdout)).toMatchObject({ store: own, store_from: 'user' })
    expect(readdirSync(here.cwd)).toEqual([])
  })
})
