import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { expect, it, onTestFinished } from 'vitest'
import { textOf } from '../../../src/core/message.ts'
import { collectPages } from '../../../src/core/pages.ts'
import { openSqliteStore } from '../../../src/stores/sqlite/index.ts'
import { recoverFile } from '../../../src/stores/sqlite/recover/recover-file.ts'

const say = (content: string) => ({ role: 'user', content }) as const

const holder = { host: 'h', boot: 'b', pid: 1, startedAt: 1 }

/** A statement, or a change of the bytes of the file. */
type Damage = string | ((bytes: Buffer) => void)

/** A file with a conversation of two turns, changed as damage may change it. */
async function damagedFile(damage: Damage): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'recover-fields-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'damaged.db')
  {
    await using store = await openSqliteStore(file, { indexing: 'manual' })
    const { branch } = await store.create({ key: 'k', title: 'Kept', tags: ['kept'] })
    const usage = { input: 3, output: 4 }
    const turn = (key: string) => ({ turn: { key, step: 0, usage } })
    const { head, ids } = await store.append(branch, null, [say('one'), say('two')], turn('broken'))
    const { head: end } = await store.append(branch, head, [say('three')], turn('intact'))
    await store.setLabel(ids[0], 'a label')
    const side = await store.createBranch(branch.conversationId, end, { name: 'side', key: 'side' })
    await store.append(side, end, [say('four')], {
      turn: { key: 'drafted', step: 0, status: 'open', holder },
    })
    const pieces = ['Once', ' upon', ' a time'].map((text, n) => ({ n, type: 'text' as const, text }))
    await store.putDraft(side.conversationId, 'drafted', holder, pieces)
  }
  const db = new BetterSqlite3(file)
  db.pragma('ignore_check_constraints = ON')
  db.pragma('foreign_keys = OFF')
  if (typeof damage === 'string') db.exec(damage)
  db.close()
  if (typeof damage === 'string') return file
  const bytes = readFileSync(file)
  damage(bytes)
  writeFileSync(file, bytes)
  return file
}

async function recovered(damage: Damage) {
  const target = await openSqliteStore(':memory:')
  onTestFinished(() => target.close())
  const losses: string[] = []
  const { gaps } = await recoverFile(await damagedFile(damage), target, {
    onLoss: loss => losses.push(loss.what),
  })
  expect((await target.verify()).findings).toEqual({ damage: 0, repairable: 0, note: 0 })
  return { target, losses, gaps, found: (await target.findByKey('k'))! }
}

it.each([
  ['without the usage that cannot be read', `usage = '{"input"'`, 'the usage of turn "broken"', 3],
  ['but not with an unknown status', `status = 'complfte'`, 'turn "broken"', 2],
  ['but not without the name of its branch', `branch = ''`, 'turn "broken"', 2],
])('recovers a turn %s, and all messages', async (_, change, what, turns) => {
  const { target, losses, found } = await recovered(`UPDATE skein_turns SET ${change} WHERE key = 'broken'`)
  expect(losses).toEqual([`${what} cannot be read`])
  expect(found.conversation.messages).toBe(4)
  const kept = await collectPages(page => target.listTurns(found.conversation.id, page))
  expect(kept).toHaveLength(turns)
})

it('recovers a conversation without the settings that cannot be read, and all messages', async () => {
  const { losses, found } = await recovered(
    `UPDATE skein_conversations SET tool_results = '"gull"', metadata = '{', owner = '', active_branch = ''`,
  )
  expect(losses).toEqual([
    'its metadata cannot be read',
    'its owner cannot be read',
    'its toolResults cannot be read',
    'its activeBranch cannot be read',
  ])
  expect(found.conversation).toMatchObject({
    title: 'Kept',
    tags: ['kept'],
    messages: 4,
    activeBranch: 'main',
  })
})

it.each([
  ['is marked as purged', 'purging = 1', ['its mark of a purge is wrong: it is kept']],
  ['is in the trash since 1970', 'trashed_at = 0', []],
  [
    'is in the trash and has an unreadable setting',
    `trashed_at = created_at, metadata = '{'`,
    ['its metadata cannot be read'],
  ],
  ['has expired in 1970', 'expires_at = 0', []],
])('recovers a conversation that %s, and does not remove it later', async (_, change, also) => {
  const { losses, found } = await recovered(`UPDATE skein_conversations SET ${change}`)
  const [field] = /trashed|expires/.exec(change) ?? []
  expect(losses).toEqual([...also, ...(field ? [`its ${field}At may be wrong: it is left out`] : [])])
  expect(found.conversation).toMatchObject({ messages: 4, trashedAt: null, expiresAt: null })
})

it('leaves out a conversation that was being purged', async () => {
  const { target, losses } = await recovered(
    'UPDATE skein_conversations SET purging = 1, trashed_at = created_at',
  )
  expect(losses).toEqual([])
  expect(await target.countConversations()).toBe(0)
  expect(await target.countConversations({ trashed: true })).toBe(0)
})

it('recovers a conversation whose row has another number than its messages name', async () => {
  const { losses, found } = await recovered(bytes => {
    const [id] = /[0-9a-f-]{36}(?=main)/.exec(bytes.toString('latin1'))!
    // The id is the first stored field. The length of the header before it is its first byte, and the number
    // of the row is before that.
    const at = bytes.indexOf(`${id}main`)
    let length = 1
    while (bytes[at - length] !== length) length++
    expect(bytes[at - length - 1]).toBe(1)
    bytes[at - length - 1] = 3
  })
  expect(losses).toEqual([])
  expect(found.conversation).toMatchObject({ title: 'Kept', tags: ['kept'], messages: 4 })
})

it('reports rows that belong to no known conversation', async () => {
  const { gaps, losses } = await recovered(`UPDATE skein_turns SET conv = 99 WHERE key = 'broken'`)
  expect(gaps).toEqual([{ table: 'skein_turns', reason: '1 row of no known conversation' }])
  expect(losses).toEqual([])
})

it.each([
  ['that ends too early', 'last = 0', []],
  ['that ends too late', 'last = 2', []],
  ['without its end', 'ended_at = NULL', ['the end of turn "broken" cannot be read']],
  ['that is open and has ended', `status = 'open'`, ['the end of turn "broken" cannot be read']],
])('recovers a turn %s', async (_, change, expected) => {
  const { target, losses, found } = await recovered(`UPDATE skein_turns SET ${change} WHERE key = 'broken'`)
  expect(losses).toEqual(expected)
  const turn = await target.findTurn(found.conversation.id, 'broken')
  expect(turn).toMatchObject({ first: 0, last: 1, endedAt: expect.any(Date) })
})

it.each([
  ['the holder', `holder = '["h'`],
  ['the lease', 'lease_until = -1'],
  ['the start', 'started_at = -1'],
  ['the end', 'ended_at = started_at'],
])('recovers the draft of an open turn if %s cannot be read', async (what, change) => {
  const { target, losses, found } = await recovered(`UPDATE skein_turns SET ${change} WHERE key = 'drafted'`)
  expect(losses).toEqual([`${what} of turn "drafted" cannot be read`])
  const { items } = await target.readDraft(found.conversation.id, 'drafted')
  expect(items.map(({ text }) => text).join('')).toBe('Once upon a time')
})

it('recovers the pieces of a draft behind one that cannot be read', async () => {
  const { target, losses, found } = await recovered(`UPDATE skein_drafts SET text = '"' WHERE n = 1`)
  expect(losses).toEqual(['the text of piece 1 of the draft of turn "drafted" cannot be read'])
  const { items } = await target.readDraft(found.conversation.id, 'drafted')
  expect(items.map(({ text }) => text)).toEqual(['Once', '', ' a time'])
})

it('recovers a branch without its time that cannot be read, and with its key', async () => {
  const { target, losses, found } = await recovered(
    `UPDATE skein_branches SET created_at = -1 WHERE name = 'side'`,
  )
  expect(losses).toEqual(['the creation time of branch "side" cannot be read'])
  const side = await target.findByKey('side')
  expect(side?.branch.createdAt).toEqual(found.conversation.createdAt)
})

it('recovers the first of two turns that have one key', async () => {
  const { target, losses, found } = await recovered(bytes => {
    for (let at = bytes.indexOf('intact'); at >= 0; at = bytes.indexOf('intact', at))
      bytes.write('broken', at)
  })
  expect(losses).toEqual(['turn "broken" is there twice: only the first one is kept'])
  expect((await target.listTurns(found.conversation.id)).items).toHaveLength(2)
  expect(found.conversation.messages).toBe(4)
})

it('recovers a message without a label that cannot be read', async () => {
  const { target, losses, found } = await recovered(`UPDATE skein_messages SET label = '' WHERE seq = 0`)
  expect(losses).toEqual(['its label cannot be read'])
  const { messages } = await target.tail(found.branch.head!, { messages: 4 })
  expect(messages.map(({ label }) => label)).toEqual([null, null, null])
})

it('recovers the path of an active branch that cannot be read', async () => {
  const { target, losses, found } = await recovered(`UPDATE skein_branches SET name = '' WHERE name = 'main'`)
  expect(losses).toEqual([
    'branch "" cannot be read',
    'its active branch is lost: "main" ends with its newest message now',
  ])
  expect(found).toBeNull()
  const { items } = await target.listConversations()
  const { messages } = await target.tail(items[0]!.branch.head!, { messages: 4 })
  expect(messages.map(textOf)).toEqual(['one', 'two', 'three', 'four'])
})

it.each([
  ['the seq of another message', 0],
  ['a seq that no message has', 7],
  ['the seq of an empty branch', -1],
])('recovers the head of a branch by its id, if it has %s', async (_, seq) => {
  const { target, losses, found } = await recovered(`UPDATE skein_branches SET head_seq = ${seq}`)
  expect(losses).toEqual([])
  const { messages } = await target.tail(found.branch.head!, { messages: 4 })
  expect(messages.map(textOf)).toEqual(['one', 'two', 'three'])
})

it('recovers the head of a branch by its seq, if no message has its id', async () => {
  const { target, losses, found } = await recovered(
    `UPDATE skein_branches SET head_id = 'x' || head_id WHERE name = 'main'`,
  )
  expect(losses).toEqual([expect.stringMatching(/^branch "main" ends with [a-z2-7]{32} now$/)])
  const { messages } = await target.tail(found.branch.head!, { messages: 4 })
  expect(messages.map(textOf)).toEqual(['one', 'two', 'three'])
})

it('reports a token count that does not fit the sums of its path', async () => {
  const { losses, found } = await recovered('UPDATE skein_messages SET tokens = tokens + 4096 WHERE seq = 2')
  expect(losses).toEqual(['its token count may be wrong'])
  expect(found.conversation.messages).toBe(4)
})

it.each([
  ['another', (id: string) => (id[0] === '0' ? '1' : '0')],
  ['no', () => '$'],
])('recovers a conversation under the id of its messages, if its row has %s id', async (_, first) => {
  let before = ''
  const { losses, found } = await recovered(bytes => {
    // In the table, the kind follows the id. The index keeps the id as it was.
    const [id] = /[0-9a-f-]{36}(?=main)/.exec(bytes.toString('latin1'))!
    before = id
    bytes.write(first(id), bytes.indexOf(`${id}main`))
  })
  expect(losses).toEqual([])
  expect(found.conversation).toMatchObject({ id: before, title: 'Kept', messages: 4 })
})
