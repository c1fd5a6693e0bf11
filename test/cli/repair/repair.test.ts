import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { expect, test, vi } from 'vitest'
import { pathOf } from '../../../src/core/path.ts'
import { openStore } from '../../../src/stores/open.ts'
import { home } from '../skein.ts'
import { stocked, storeFile, tell } from '../stock.ts'

// Many processes on few cores.
vi.setConfig({ testTimeout: 120_000 })

test('verify reports that a file cannot be opened, and recover copies its content (R6)', async () => {
  using here = home()
  const told = await stocked(here, store => tell(store, { title: 'Storm' }, 'one', 'two', 'three'))
  const file = storeFile(here)
  const bytes = readFileSync(file)
  bytes.fill(0x5a, 0, 100)
  writeFileSync(file, bytes)
  const found = await here.skein(['verify'])
  expect(found).toMatchObject({ code: 1 })
  expect(found.stdout).toMatch(
    /^✗ the store is damaged\n {2}it cannot be opened: .*is not a Skein store, or its header is damaged\n/,
  )
  expect(found.stdout).toContain('copy the intact part: skein recover')
  const saved = await here.skein(['recover'])
  expect(saved).toMatchObject({ code: 0, stdout: '' })
  expect(saved.stderr).toMatch(/^recovered 3 messages in 1 conversation · \S+conversations-recovered\.db · /)
  expect(saved.stderr).toContain('! the header was damaged\n')
  expect(readFileSync(file).equals(bytes)).toBe(true)
  const made = file.replace('.db', '-recovered.db')
  expect((await here.skein(['verify', '--db', made])).stdout).toBe('✓ no problems found\n')
  expect((await here.skein(['show', told.conversation.id, '--db', made])).stdout).toContain('three')
  expect(readdirSync(join(file, '..')).filter(name => /recover-|unfinished/.test(name))).toEqual([])
  expect(await here.skein(['recover'])).toMatchObject({ code: 2 })
  expect((await here.skein(['recover'])).stderr).toContain('--force')
})

test('verify prints a line for each fault of the file, and the recover command for that file', async () => {
  using here = home()
  const words = Array.from({ length: 300 }, (_, i) => `words ${i}`)
  await stocked(here, store => tell(store, { title: 'Storm' }, 'first', ...words))
  const file = storeFile(here)
  const db = new BetterSqlite3(file)
  const page = db.prepare(`SELECT rootpage FROM sqlite_master WHERE name = 'skein_messages'`).pluck().get()
  db.close()
  const bytes = readFileSync(file)
  bytes.fill(0x5a, (Number(page) - 1) * 4_096, Number(page) * 4_096)
  writeFileSync(file, bytes)
  const { code, stdout } = await here.skein(['--db', file, 'verify'])
  expect(code).toBe(1)
  expect(stdout).toContain(`copy the intact part: skein --db ${file} recover ·`)
  expect(stdout).not.toContain('*** in database')
  const [first, ...lines] = stdout.trimEnd().split('\n')
  expect(first).toMatch(/^✗ /)
  for (const line of lines) expect(line).toMatch(/^( {2}|! )/)
})

test('recover prints a reason once, with a count', async () => {
  using here = home()
  const { ids } = await stocked(here, store => tell(store, { title: 'damaged' }, 'a', 'b', 'c', 'd', 'e'))
  const db = new BetterSqlite3(storeFile(here))
  for (const id of ids.slice(1, 4))
    db.prepare('UPDATE skein_messages SET body = ? WHERE id = ?').run('{"blocks":"forged"}', id)
  db.close()
  const { stderr } = await here.skein(['recover', storeFile(here), '-o', 'new.db'])
  const reasons = stderr.split('\n').filter(line => line.startsWith('  '))
  expect(reasons[0]).toMatch(/ \(and 2 more\)$/)
  expect(reasons.at(-1)).toBe('  all of them: the same with --json')
  const bare = reasons.map(line => line.replace(/^ {2}\w+ {2}(\w+: )?/, ''))
  expect(new Set(bare).size).toBe(bare.length)
})

test('recover copies tasks and their dispatches, and names what is lost of them (R6)', async () => {
  using here = home()
  await stocked(here, async store => {
    const told = await tell(store, { title: 'Storm' }, 'one')
    for (const id of ['whole', 'gap', 'waits', 'gone']) await store.submitTask({ id, description: id })
    const request = { holder: { host: 'h', boot: 'b', pid: 1, startedAt: 1 }, worker: 'w' }
    const { claim } = (await store.claimDispatch(request))!
    await store.linkDispatch(claim, told.conversation.id)
    await store.finishDispatch(claim, { status: 'done', result: { response: 'Fine.' } })
    await store.claimThisDispatch('waits', 1, request)
    for (const id of ['gap', 'waits']) await store.dispatchTask(id, { words: 'And then?' })
    return told
  })
  const file = storeFile(here)
  const before = await openStore(file)
  const whole = [await before.getTask('whole'), await before.getDispatch('whole', 1)]
  await before.close()
  const db = new BetterSqlite3(file)
  db.exec(
    `DELETE FROM skein_dispatches WHERE task = 'gap' AND n = 1; DELETE FROM skein_tasks WHERE id = 'gone'`,
  )
  db.close()
  const { code, stdout } = await here.skein(['recover', file, '-o', 'new.db', '--json'])
  expect(code).toBe(1)
  expect(JSON.parse(stdout)).toMatchObject({
    tasks: 3,
    gaps: [
      { table: 'skein_tasks', reason: 'task "gap": dispatch 1 is lost' },
      { table: 'skein_tasks', reason: 'task "gone": only its dispatches can be read' },
    ],
  })
  await using store = await openStore(join(here.cwd, 'new.db'))
  expect([await store.getTask('whole'), await store.getDispatch('whole', 1)]).toEqual(whole)
  expect(await store.getTask('gap')).toMatchObject({ status: 'queued', current: 2, dispatches: 2 })
  expect(await store.getDispatch('gap', 1)).toMatchObject({ status: 'failed', error: expect.any(String) })
  // Its worker is not in the new store: the dispatch is queued again.
  expect(await store.getTask('waits')).toMatchObject({ status: 'queued', current: 1, dispatches: 2 })
  expect(await store.getDispatch('waits', 2)).toMatchObject({ status: 'waiting', words: 'And then?' })
  expect((await store.verify()).findings).toEqual({ damage: 0, repairable: 0, note: 0 })
})

test('recover keeps the place of damaged messages, and names every loss (R6)', async () => {
  using here = home()
  const { one, two } = await stocked(here, async store => ({
    one: await tell(store, { title: 'damaged' }, 'a', 'b', 'c', 'd'),
    two: await tell(store, { title: 'sound' }, 'e'),
  }))
  const db = new BetterSqlite3(storeFile(here))
  db.prepare('UPDATE skein_messages SET body = ? WHERE id = ?').run('{"blocks":"forged"}', one.ids[1])
  db.prepare('UPDATE skein_messages SET body = ?, at = 5 WHERE id = ?').run('{"blocks":"gone"}', one.ids[2])
  db.close()
  const { code, stdout } = await here.skein(['recover', storeFile(here), '-o', 'new.db', '--json'])
  expect(code).toBe(1)
  const receipt = JSON.parse(stdout)
  expect(receipt).toMatchObject({ conversations: 2, whole: 1, messages: 4 })
  expect(receipt.losses.map(({ kind, message }: Record<string, string>) => [kind, message])).toEqual([
    ['emptied', one.ids[1]],
    ['lost', one.ids[2]],
    ['rehung', one.ids[3]],
    ['other', null],
  ])
  await using store = await openStore(join(here.cwd, 'new.db'))
  const { head } = await store.getBranch(one.branch)
  const path = await pathOf(store, head!)
  expect(path.map(({ id }) => id)).toEqual([one.ids[0], one.ids[1], receipt.losses[2].now])
  expect(path.map(({ erased }) => erased?.by ?? null)).toEqual([null, 'skein recover', null])
  expect((await pathOf(store, two.ids[0]!)).map(({ id }) => id)).toEqual(two.ids)
  expect((await store.verify()).findings).toEqual({ damage: 0, repairable: 0, note: 0 })
})

test('backup copies and verifies the store, replaces no file, and keeps no damaged copy (R25)', async () => {
  using here = home()
  const told = await stocked(here, store => tell(store, { title: 'Storm' }, 'one', 'two'))
  const made = await here.skein(['backup', 'copy.db', '--json'])
  expect(made.code).toBe(0)
  const file = join(here.cwd, 'copy.db')
  expect(JSON.parse(made.stdout)).toMatchObject({
    file,
    verified: true,
    messages: 2,
    bytes: statSync(file).size,
  })
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(await here.skein(['backup', 'copy.db'])).toMatchObject({ code: 2 })
  const again = await here.skein(['backup', 'copy.db', '--force', '--no-verify'])
  expect(again.stderr).toMatch(/^backed up to \S+copy\.db · .* · not checked · /)
  expect(await here.skein(['backup', storeFile(here), '--force'])).toMatchObject({ code: 2 })
  expect(await here.skein(['backup', 'x.db', '--db', 'postgres://localhost/none'])).toMatchObject({ code: 2 })
  const db = new BetterSqlite3(storeFile(here))
  db.prepare('UPDATE skein_messages SET body = ? WHERE id = ?').run('{"blocks":"forged"}', told.ids[0])
  db.close()
  const damaged = await here.skein(['backup', 'damaged.db'])
  expect(damaged.code).toBe(1)
  expect(damaged.stderr).toContain('--no-verify')
  expect(readdirSync(here.cwd)).toEqual(['copy.db'])
})

test('erase removes content from every byte of the file, and from derived data (R6)', async () => {
  using here = home()
  const secret = 'Swordfish-7Q'
  const { ids, conversation, branch } = await stocked(here, async store => {
    const told = await tell(store, {}, `the word is ${secret}`, 'noted', `and once more: ${secret}`)
    const holder = { host: 'h', boot: 'b', pid: 1, startedAt: 1 }
    const turn = { key: 't', step: 0, holder, status: 'open' as const }
    const { head } = await store.append(
      told.branch,
      told.branch.head,
      [{ role: 'user', content: 'continue' }],
      {
        turn,
      },
    )
    await store.putDraft(told.conversation.id, 't', holder, [
      { n: 0, type: 'text', text: `draft of ${secret}` },
    ])
    const ended = await store.endTurn(told.conversation.id, 't', { status: 'interrupted', heldBy: holder })
    await store.search(secret)
    return { ...told, ids: [...told.ids, head, ended.message!] }
  })
  const file = storeFile(here)
  const traces = () =>
    ['', '-wal'].filter(
      end => existsSync(`${file}${end}`) && /swordfish-7q/i.test(readFileSync(`${file}${end}`, 'latin1')),
    )
  expect(traces()).not.toEqual([])
  const named = [ids[0]!, ids[2]!, ids[4]!]
  expect(await here.skein(['erase', ...named])).toMatchObject({ code: 2 })
  expect(await here.skein(['erase', ...named, '--reason', 'a password'])).toMatchObject({ code: 2 })
  expect(await here.skein(['erase', conversation.id, '--reason', 'x', '--yes'])).toMatchObject({ code: 2 })
  const done = await here.skein(['erase', ...named, '--reason', 'a password', '--by', 'anna', '--yes'])
  expect(done).toMatchObject({ code: 0, stdout: '' })
  expect(done.stderr).toContain(
    'erased 3 messages, 1 title · by anna\ncopies may remain in: backups, exports',
  )
  expect(traces()).toEqual([])
  expect((await here.skein(['search', secret, '--json'])).stdout).toBe('[]\n')
  expect((await here.skein(['verify'])).stdout).toBe('✓ no problems found\n')
  const again = await here.skein(['erase', ids[0]!, '--reason', 'a password', '--yes', '--json'])
  expect(JSON.parse(again.stdout)).toMatchObject({ erased: 0, already_erased: 1 })
  await stocked(here, async store => {
    const [first] = await store.getMessages([ids[0]!])
    expect(first!.erased).toMatchObject({ by: 'anna', reason: 'a password' })
    expect((await store.getConversation(conversation.id)).title).toBeNull()
    expect((await store.getBranch(branch)).head).toBe(ids[4])
  })
})

test('erase removes the words from the input history and names the copies that remain', async () => {
  using here = home()
  const { ids } = await stocked(here, store => tell(store, {}, 'the password is hunter2xyz', 'noted'))
  const history = join(dirname(storeFile(here)), 'typed-lines')
  const lines = ['another line', 'the password is hunter2xyz', '/title the password is hunter2xyz']
  writeFileSync(history, lines.map(line => `${JSON.stringify(line)}\n`).join(''))
  writeFileSync(`${storeFile(here)}.before-migration`, '')
  const done = await here.skein(['erase', ids[0]!, '--reason', 'password', '--yes'])
  expect(readFileSync(history, 'utf8')).toBe('"another line"\n')
  expect(statSync(history).mode & 0o777).toBe(0o600)
  expect(done.stderr).toContain(
    'removed 2 lines from the input history\ncopies may remain in: backups, exports',
  )
  expect(done.stderr).toContain('conversations.db.before-migration')
  const again = await here.skein(['erase', ids[0]!, '--reason', 'password', '--yes'])
  expect(again.stderr).toBe('already erased: 1 message\n')
})

test('erase renames the branch that is named after the words, and says so', async () => {
  using here = home()
  const { conversation, ids } = await stocked(here, store => tell(store, {}, 'hello', 'hi'))
  const asked = await here.skein(['-c', ids[0]!, '--json', 'the password is hunter2xyz'])
  const { branch } = JSON.parse(asked.stdout)
  expect(branch).toBe('the-password')
  await stocked(here, store =>
    store.addEvents(conversation.id, [
      { type: 'plan', data: { entries: ['say the password is hunter2xyz'] } },
    ]),
  )
  const { path } = JSON.parse((await here.skein(['show', `${conversation.id}:${branch}`, '--json'])).stdout)
  const done = await here.skein(['erase', path[1].id, path[2].id, '--reason', 'password', '--yes'])
  expect(done.stderr).toContain('erased 2 messages, 1 branch name, 1 trace event · by ')
  expect(done.stderr).toContain('\nits branch is called main-2 now\n')
  expect((await here.skein(['branches', conversation.id])).stdout).not.toContain('password')
  expect((await here.skein(['events', conversation.id, '--json'])).stdout).not.toContain('hunter2xyz')
})

test('rm of messages removes the words from the input history, also those of messages after them', async () => {
  using here = home()
  const { ids } = await stocked(here, store =>
    tell(store, {}, 'a question that stays', 'noted', 'the password is hunter2xyz', 'ok', 'and a second one'),
  )
  const history = join(dirname(storeFile(here)), 'typed-lines')
  const lines = ['a question that stays', 'the password is hunter2xyz', 'and a second one']
  writeFileSync(history, lines.map(line => `${JSON.stringify(line)}\n`).join(''))
  const dry = await here.skein(['rm', '--cascade', ids[2]!, '--dry-run', '--json'])
  expect(JSON.parse(dry.stdout)).toMatchObject({ deleted_messages: 3, input_lines: 0 })
  const done = await here.skein(['rm', '--cascade', ids[2]!, '--yes'])
  expect(done.stderr).toContain('deleted 3 messages for good')
  expect(done.stderr).toContain('\nremoved 2 lines from the input history\n')
  expect(readFileSync(history, 'utf8')).toBe('"a question that stays"\n')
})
