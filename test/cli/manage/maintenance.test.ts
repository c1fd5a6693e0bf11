import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { expect, test, vi } from 'vitest'
import { home } from '../skein.ts'
import { at, driving, hostile, stocked, storeFile, tell } from '../stock.ts'

// Many processes on few cores.
vi.setConfig({ testTimeout: 120_000 })

const day = 86_400_000
const hour = 3_600_000

test('verify reports no findings for intact data: large texts, media, erased and trashed messages', async () => {
  using here = home()
  await stocked(here, async store => {
    const { ids } = await tell(
      store,
      { title: 'sound' },
      'plain',
      'x'.repeat(40_000),
      {
        role: 'user',
        content: [
          { type: 'file', mime: 'application/pdf', data: Buffer.alloc(30_000, 7).toString('base64') },
          { type: 'text', text: '\ud800 lone', metadata: { $blob: 'own', list: [1, -0, 1e21, null, true] } },
        ],
        metadata: { big: 'y'.repeat(20_000), 2: 'b', 1: 'a', ['__proto__']: 1 },
      },
      'to be erased',
    )
    await store.eraseMessages([ids[3]!], { by: 'test', reason: 'secret' })
    const gone = await tell(store, {}, 'in the trash')
    await store.trash(gone.conversation.id)
  })
  const all = await here.skein(['verify'])
  expect(all).toMatchObject({ code: 0, stdout: '✓ no problems found\n' })
  expect(all.stderr).toMatch(/^checked 5 messages in 2 conversations · 1 erased on purpose · [\d.]+ m?s\n$/)
  expect(JSON.parse((await here.skein(['verify', '--json'])).stdout)).toEqual({
    checked: 5,
    erased: 1,
    conversations: 2,
    damaged_conversations: 0,
    blobs: 3,
    counts: { damage: 0, repairable: 0, note: 0 },
    damaged: [],
    repairable: [],
    notes: [],
  })
})

test('verify names the damaged message, and how many messages precede and follow it', async () => {
  using here = home()
  const { one, two } = await stocked(here, async store => ({
    one: await tell(store, { title: `Runbook ${hostile}` }, 'a', 'b', 'c', 'd'),
    two: await tell(store, { title: 'sound' }, 'e'),
  }))
  const db = new BetterSqlite3(storeFile(here))
  const changed = db
    .prepare('UPDATE skein_messages SET body = ? WHERE id = ?')
    .run(JSON.stringify({ blocks: 'forged' }), one.ids[1])
  expect(changed.changes).toBe(1)
  db.prepare('UPDATE skein_messages SET body = ? WHERE id = ?').run('{"blocks', one.ids[3])
  db.close()
  const found = await here.skein(['verify'])
  expect(found.code).toBe(1)
  const short = (id: string) => id.slice(0, 6)
  expect(found.stdout).toContain('✗ 1 conversation is damaged, 1 is intact\n')
  expect(found.stdout).toContain(`· ${short(one.ids[1]!)}: stored text does not match its id\n`)
  expect(found.stdout).toContain('          1 message before it, 2 after it depend on it\n')
  expect(found.stdout).not.toMatch(driving)
  const json = JSON.parse((await here.skein(['verify', '--json', one.conversation.id])).stdout)
  expect(json).toMatchObject({ checked: 4, conversations: 1 })
  expect(json.damaged.map((row: { message: string }) => row.message)).toEqual([one.ids[1], one.ids[3]])
  expect(json.damaged[0]).toMatchObject({
    conversation: one.conversation.id,
    reason: 'stored text does not match its id',
    before: 1,
    after: 2,
  })
  expect((await here.skein(['verify', '-q', two.conversation.id])).code).toBe(0)
  expect((await here.skein(['verify', 'zzzzzz'])).code).toBe(3)
})

test('verify and gc do not create a missing store', async () => {
  using here = home()
  expect(await here.skein(['verify'])).toMatchObject({ code: 0 })
  expect((await here.skein(['gc'])).stderr).toContain('nothing has expired')
  expect((await here.skein(['trash'])).stdout).toBe('')
  const { existsSync } = await import('node:fs')
  expect(existsSync(storeFile(here))).toBe(false)
})

test('gc prints what would be removed, moves expired conversations to the trash, and purges old ones', async () => {
  using here = home()
  const now = Date.now()
  const old = await stocked(
    here,
    async store => {
      const { conversation } = await tell(store, { title: 'old' }, 'a', 'b')
      await store.trash(conversation.id)
      return conversation.id
    },
    { source: at(now - 10 * day) },
  )
  let own = ''
  const expired = await stocked(
    here,
    async store => {
      await store.sweep()
      const task = { task: 'bead-1', expiresAt: new Date(now - hour), createdAt: new Date(now - day) }
      own = (await tell(store, { expiresAt: new Date(now - hour) }, 'own')).conversation.id
      return (await tell(store, task, 'c')).conversation.id
    },
    { source: at(now - 2 * hour) },
  )
  const dry = await here.skein(['gc', '--dry-run'])
  expect(dry.stderr.split('\n')).toEqual([
    'would move to trash       1 conversation, 1 message, 14 B   (expired)',
    'would delete for good     1 conversation, 2 messages, 28 B   (in the trash for 7 days)',
    'would keep                1 conversation   (expired: 1 has no task)',
    'nothing was changed. Do it: skein gc · name them: skein gc --dry-run --json',
    '',
  ])
  const named = {
    trashed: [expired],
    purged: [old],
    kept: [{ id: own, reason: 'no task' }],
    bytes: 42,
    trashed_messages: 1,
    purged_messages: 2,
    compacted: null,
    clock_jumped: null,
    input_lines: 0,
  }
  expect(JSON.parse((await here.skein(['gc', '--dry-run', '--json'])).stdout)).toEqual({
    receipt: null,
    dry_run: true,
    ...named,
  })
  expect(JSON.parse((await here.skein(['gc', '--json'])).stdout)).toEqual({
    receipt: expect.stringMatching(/^\d{4}-.*Z$/),
    dry_run: false,
    ...named,
  })
  expect((await here.skein(['conversation', 'gc'])).stderr).toContain('nothing has expired')
  expect((await here.skein(['restore', old])).code).toBe(3)
})

test('gc purges in one run what has been in the trash for 7 days, and compacts the store', async () => {
  using here = home()
  const id = await stocked(
    here,
    async store => {
      const { conversation } = await tell(store, { title: 'old' }, 'the secret is swordfish', 'b')
      await store.trash(conversation.id)
      await tell(store, { task: 'bead-1', expiresAt: new Date(Date.now() - hour) }, 'expired')
      // The last run of gc was more than a day ago.
      await store.sweep()
      return conversation.id
    },
    { source: at(Date.now() - 10 * day) },
  )
  const history = join(dirname(storeFile(here)), 'typed-lines')
  writeFileSync(history, '"another line"\n"the secret is swordfish"\n')
  const planned = await here.skein(['gc', '--dry-run'])
  expect(planned.stderr).toContain('would delete for good')
  expect(planned.stderr).toContain('would move to trash')
  expect(readFileSync(history, 'utf8')).toContain('swordfish')
  const done = await here.skein(['gc', '--compact'])
  expect(done.stderr).toMatch(
    /^moved to trash {7}1 conversation, 1 message {3}\(expired\)\ndeleted for good {5}1 conversation, 2 messages {3}\(in the trash for 7 days\)\n/,
  )
  expect(done.stderr).toContain('\nremoved 1 line from the input history\n')
  expect(readFileSync(history, 'utf8')).toBe('"another line"\n')
  expect(done.stderr).toMatch(/\ncompacted the store from [\d.]+ kB to [\d.]+ kB\n$/)
  expect((await here.skein(['restore', id])).code).toBe(3)
})

test('gc counts 20,000 expired conversations in a heap that could not hold them', async () => {
  using here = home()
  await stocked(here, store => tell(store, { title: 'one of many' }, 'a question'))
  const db = new BetterSqlite3(storeFile(here))
  const columnsOf = (table: string) =>
    db.prepare('SELECT name FROM pragma_table_info(?)').pluck().all(table) as string[]
  const copy = (table: string, from: string, own: Record<string, string>) => {
    const columns = columnsOf(table)
    db.exec(
      `INSERT INTO ${table} (${columns}) SELECT ${columns.map(name => own[name] ?? `x.${name}`)} ${from}`,
    )
  }
  copy('skein_conversations', `FROM ${numbers}, skein_conversations x`, {
    c: 'x.c + n.value',
    id: `printf('00000000-0000-4000-8000-%012x', n.value)`,
  })
  copy('skein_branches', 'FROM skein_conversations c, skein_branches x WHERE c.c <> x.conv', { conv: 'c.c' })
  expect(db.prepare('SELECT count(*) FROM skein_branches').pluck().get()).toBe(20_001)
  db.exec(`UPDATE skein_conversations SET expires_at = 1, task = 'bead ' || c WHERE c % 4 > 0;
    UPDATE skein_conversations SET expires_at = 1 WHERE c % 4 = 0 AND c % 16 > 0`)
  db.close()
  const { stderr, code } = await here.skein(['gc', '--dry-run'], {
    env: { NODE_OPTIONS: '--max-old-space-size=24' },
  })
  expect({ stderr, code }).toEqual({
    stderr: [
      'would move to trash  15,001 conversations, 15,001 messages, 23 B   (expired)',
      'would keep           3,750 conversations   (expired: 3,750 have no task)',
      'nothing was changed. Do it: skein gc · name them: skein gc --dry-run --json',
      '',
    ].join('\n'),
    code: 0,
  })
})

/** 1 to 20,000 as the column `value`. */
const numbers = `(
  WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < 20000)
  SELECT value FROM n) n`

test('gc removes nothing if the clock has moved backwards, or by more than a year', async () => {
  for (const swept of [Date.now() + 2 * day, Date.now() - 500 * day]) {
    using here = home()
    await stocked(
      here,
      async store => {
        await store.sweep()
        await tell(store, { task: 'bead-1', expiresAt: new Date(Date.now() - hour) }, 'expired')
      },
      { source: at(swept) },
    )
    const { stderr, code } = await here.skein(['gc'])
    expect(code).toBe(0)
    expect(stderr).toContain('the clock has moved by more than a day')
    expect(stderr).toContain('nothing was changed. If the clock is right: skein gc')
    expect((await here.skein(['trash', '--json'])).stdout).toBe('[]\n')
    expect((await here.skein(['gc'])).stderr).not.toContain('the clock')
  }
})
