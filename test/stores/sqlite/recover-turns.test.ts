import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { expect, it, onTestFinished } from 'vitest'
import { collectPages } from '../../../src/core/pages.ts'
import { openSqliteStore } from '../../../src/stores/sqlite/index.ts'
import { recoverFile } from '../../../src/stores/sqlite/recover/recover-file.ts'

it.each([
  ['without the usage that cannot be read', `SET usage = '{"input"'`, 'the usage of turn "broken"', 2],
  ['but not with a status that there is not', `SET status = 'complfte'`, 'turn "broken"', 1],
  ['but not without a name of its branch', `SET branch = ''`, 'turn "broken"', 1],
])('recovers a turn %s, and all messages', async (_, damage, what, turns) => {
  const folder = mkdtempSync(join(tmpdir(), 'recover-turns-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'damaged.db')
  {
    await using store = await openSqliteStore(file, { indexing: 'manual' })
    const { branch } = await store.create({ key: 'k' })
    const usage = { input: 3, output: 4 }
    const say = (content: string) => ({ role: 'user', content }) as const
    const { head } = await store.append(branch, null, [say('one'), say('two')], {
      turn: { key: 'broken', step: 0, usage },
    })
    await store.append(branch, head, [say('three')], { turn: { key: 'whole', step: 0, usage } })
  }
  const db = new BetterSqlite3(file)
  db.pragma('ignore_check_constraints = ON')
  db.exec(`UPDATE skein_turns ${damage} WHERE key = 'broken'`)
  db.close()
  await using target = await openSqliteStore(':memory:')
  const losses: string[] = []
  await recoverFile(file, target, { onLoss: loss => losses.push(loss.what) })
  expect(losses).toEqual([`${what} cannot be read`])
  const { conversation } = (await target.findByKey('k'))!
  expect(conversation.messages).toBe(3)
  const kept = await collectPages(page => target.listTurns(conversation.id, page))
  expect(kept).toHaveLength(turns)
  expect((await target.verify()).findings).toEqual({ damage: 0, repairable: 0, note: 0 })
})
