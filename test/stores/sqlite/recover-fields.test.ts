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
    await store.append(branch, head, [say('three')], turn('whole'))
    await store.setLabel(ids[0], 'a label')
  }
  const db = new BetterSqlite3(file)
  db.pragma('ignore_check_constraints = ON')
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
  await recoverFile(await damagedFile(damage), target, { onLoss: loss => losses.push(loss.what) })
  expect((await target.verify()).findings).toEqual({ damage: 0, repairable: 0, note: 0 })
  return { target, losses, found: (await target.findByKey('k'))! }
}

it.each([
  ['without the usage that cannot be read', `usage = '{"input"'`, 'the usage of turn "broken"', 2],
  ['but not with an unknown status', `status = 'complfte'`, 'turn "broken"', 1],
  ['but not without the name of its branch', `branch = ''`, 'turn "broken"', 1],
])('recovers a turn %s, and all messages', async (_, change, what, turns) => {
  const { target, losses, found } = await recovered(`UPDATE skein_turns SET ${change} WHERE key = 'broken'`)
  expect(losses).toEqual([`${what} cannot be read`])
  expect(found.conversation.messages).toBe(3)
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
    messages: 3,
    activeBranch: 'main',
  })
})

it('recovers a message without a label that cannot be read', async () => {
  const { target, losses, found } = await recovered(`UPDATE skein_messages SET label = '' WHERE seq = 0`)
  expect(losses).toEqual(['its label cannot be read'])
  const { messages } = await target.tail(found.branch.head!, { messages: 3 })
  expect(messages.map(({ label }) => label)).toEqual([null, null, null])
})

it('recovers the path of an active branch that cannot be read', async () => {
  const { target, losses, found } = await recovered(`UPDATE skein_branches SET key = ''`)
  expect(losses).toEqual([
    'a branch cannot be read',
    'its active branch is lost: "main" ends with its newest message now',
  ])
  expect(found).toBeNull()
  const { items } = await target.listConversations()
  const { messages } = await target.tail(items[0]!.branch.head!, { messages: 4 })
  expect(messages.map(textOf)).toEqual(['one', 'two', 'three'])
})

it('reports a token count that does not fit the sums of its path', async () => {
  const { losses, found } = await recovered('UPDATE skein_messages SET tokens = tokens + 4096 WHERE seq = 2')
  expect(losses).toEqual(['its token count may be wrong'])
  expect(found.conversation.messages).toBe(3)
})

it('recovers a conversation under the id that its messages were made with', async () => {
  let before = ''
  const { losses, found } = await recovered(bytes => {
    // In the table, the kind follows the id. The index keeps the id as it was.
    const [id] = /[0-9a-f-]{36}(?=main)/.exec(bytes.toString('latin1'))!
    before = id
    bytes.write(id[0] === '0' ? '1' : '0', bytes.indexOf(`${id}main`))
  })
  expect(losses).toEqual([])
  expect(found.conversation).toMatchObject({ id: before, title: 'Kept', messages: 3 })
})
