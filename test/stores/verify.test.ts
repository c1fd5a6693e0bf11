import { setImmediate as giveWay } from 'node:timers/promises'
import BetterSqlite3 from 'better-sqlite3'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { CorruptError } from '../../src/core/errors.ts'
import type { Finding, Severity, VerifyOptions } from '../../src/core/finding.ts'
import type { ConversationId, MessageId } from '../../src/core/ids.ts'
import type { Store } from '../../src/core/ports.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { freshDatabase, openPool } from './postgres/database.ts'

/** A store whose rows can be changed directly. `{messages}` in a statement is replaced by the table. */
interface Open {
  readonly store: Store
  change(sql: string): Promise<void>
}

const pool = openPool(await freshDatabase(), { max: 4 })
let tenants = 0
afterAll(() => pool.end())

const drivers: { name: 'SQLite' | 'PostgreSQL'; open(): Promise<Open> }[] = [
  {
    name: 'SQLite',
    open: async () => {
      const db = new BetterSqlite3(':memory:')
      onTestFinished(() => void db.close())
      const store = await sqliteStore(db)
      // Damage ignores constraints.
      db.pragma('ignore_check_constraints = ON')
      db.pragma('foreign_keys = OFF')
      return {
        store,
        change: async sql =>
          void db.exec(sql.replaceAll('{bytes}', "x'79'").replaceAll(/\{(\w+)\}/g, 'skein_$1')),
      }
    },
  },
  {
    name: 'PostgreSQL',
    open: async () => {
      const tenant = `verify ${++tenants}`
      const store = await postgresStore(pool, { tenant })
      return {
        store,
        change: async sql => {
          const named = sql.replaceAll('{bytes}', "'y'").replaceAll(/\{(\w+)\}/g, 'skein.$1')
          await pool.query(
            /WHERE/.test(named) ? `${named} AND tenant = '${tenant}'` : `${named} WHERE tenant = '${tenant}'`,
          )
        },
      }
    },
  },
]

const large = 'x'.repeat(20_000)

interface Stock {
  readonly id: ConversationId
  readonly ids: readonly MessageId[]
  readonly other: ConversationId
}

/** Seven messages in one conversation (a fork at seq 1, a blob at 4, two steps of a turn at the end), two
 *  in another. */
async function stock(store: Store): Promise<Stock> {
  const { conversation, branch } = await store.create({ tags: ['t'], prompt: 'Be brief.' })
  const { id } = conversation
  const { ids: first } = await store.append(branch, null, [
    { role: 'user', content: 'one' },
    { role: 'assistant', content: 'two' },
    { role: 'user', content: 'three' },
  ])
  await store.createBranch(id, first[1]!, { name: 'fork' })
  const fork = { conversationId: id, name: 'fork' }
  const { ids: second } = await store.append(fork, first[1]!, [
    { role: 'user', content: 'four' },
    { role: 'assistant', content: large },
  ])
  const step = (n: number) => ({
    turn: { key: 'turn', step: n, holder, status: n === 0 ? ('open' as const) : ('complete' as const) },
  })
  const { ids: third } = await store.append(branch, first[2]!, [{ role: 'user', content: 'six' }], step(0))
  const { ids: fourth } = await store.append(
    branch,
    third[0],
    [{ role: 'assistant', content: 'seven' }],
    step(1),
  )
  await store.addEvents(id, [{ type: 'turn_started', data: { key: 'turn' } }])
  await store.claimSummary(id, { first: first[0], last: first[2]! }, holder)
  await store.putSummary(id, { first: first[0], last: first[2]!, tokens: 1, text: 'short', holder })
  const { conversation: other, branch: beside } = await store.create({ title: 'beside' })
  await store.append(beside, null, [
    { role: 'user', content: 'eight' },
    { role: 'assistant', content: 'nine' },
  ])
  await store.search('one')
  return { id, ids: [...first, ...second, ...third, ...fourth], other: other.id }
}

const holder = { host: 'h', boot: 'b', pid: 1, startedAt: 1 }

async function found(store: Store, options: VerifyOptions = {}): Promise<readonly Finding[]> {
  const findings: Finding[] = []
  await store.verify({ ...options, onFinding: finding => findings.push(finding) })
  return findings
}

/** Above the last time of a date. */
const noTime = 9_007_199_254_740_000

/** A direct change, its severity, the message, and the text of the finding. */
const damages: [change: string, severity: Severity, seq: number | null, what: RegExp][] = [
  [
    `UPDATE {messages} SET body = '{"blocks":"twO"}' WHERE body = '{"blocks":"two"}'`,
    'damage',
    1,
    /stored text/,
  ],
  [`UPDATE {messages} SET role = 'user' WHERE body = '{"blocks":"two"}'`, 'damage', 1, /id does not match/],
  [`UPDATE {messages} SET at = at + 1 WHERE body = '{"blocks":"two"}'`, 'damage', 1, /id does not match/],
  [
    `UPDATE {messages} SET parent_seq = 0 WHERE body = '{"blocks":"three"}'`,
    'damage',
    2,
    /id does not match/,
  ],
  [
    `UPDATE {messages} SET parent_seq = 5 WHERE body = '{"blocks":"three"}'`,
    'damage',
    2,
    /id does not match|stored after/,
  ],
  [
    `UPDATE {messages} SET id = 'abcdefghijklmnopqrstuvwxyz234567' WHERE body = '{"blocks":"two"}'`,
    'damage',
    1,
    /id does not match/,
  ],
  [`DELETE FROM {messages} WHERE body = '{"blocks":"four"}'`, 'damage', 3, /is missing, without/],
  [
    `UPDATE {messages} SET body = NULL WHERE body = '{"blocks":"four"}'`,
    'damage',
    3,
    /its words are missing/,
  ],
  [`UPDATE {messages} SET depth = 9 WHERE body = '{"blocks":"six"}'`, 'repairable', 5, /depth is 9/],
  [`UPDATE {messages} SET run = 1 WHERE body = '{"blocks":"six"}'`, 'repairable', 5, /run is 1/],
  [`UPDATE {messages} SET tokens = 77 WHERE body = '{"blocks":"six"}'`, 'repairable', 5, /path_tokens is/],
  [`UPDATE {messages} SET turn = 4 WHERE body = '{"blocks":"six"}'`, 'repairable', 5, /a turn at seq 4/],
  [`UPDATE {messages} SET step = 4 WHERE body = '{"blocks":"six"}'`, 'repairable', 5, /step 4 is above/],
  [`DELETE FROM {blob_refs} WHERE seq = 4`, 'repairable', 4, /not listed as its own/],
  [`DELETE FROM {blobs}`, 'damage', 4, /its blob \w+ is missing/],
  [`UPDATE {blobs} SET data = {bytes}`, 'damage', 4, /its blob \w+ does not match its hash/],
  [`UPDATE {branches} SET head_depth = 7 WHERE name = 'fork'`, 'repairable', 4, /knows of its head/],
  [`UPDATE {branches} SET head_seq = 3 WHERE name = 'fork'`, 'damage', 3, /points to another message/],
  [
    `UPDATE {branches} SET head_seq = 99 WHERE name = 'fork'`,
    'damage',
    99,
    /points to a message that is not/,
  ],
  [
    `UPDATE {conversations} SET active_branch = 'gone' WHERE next_seq = 7`,
    'repairable',
    null,
    /active branch/,
  ],
  [`UPDATE {conversations} SET messages = 8 WHERE next_seq = 7`, 'repairable', null, /messages is 8/],
  [`UPDATE {conversations} SET tokens = 8 WHERE next_seq = 7`, 'repairable', null, /tokens is 8/],
  [`UPDATE {conversations} SET next_seq = 9 WHERE next_seq = 7`, 'damage', 7, /2 messages are missing/],
  [`UPDATE {conversations} SET next_seq = 5 WHERE next_seq = 7`, 'repairable', null, /next seq is said/],
  [`UPDATE {conversations} SET tags = '[]' WHERE next_seq = 7`, 'repairable', null, /by its own tags/],
  [`UPDATE {prompts} SET text = 'Be long.'`, 'damage', null, /prompt \w+ does not match/],
  [`DELETE FROM {prompts}`, 'damage', null, /its prompt \w+ is missing/],
  [`UPDATE {turns} SET last = 2`, 'repairable', 5, /ends before it begins|a turn at seq 5/],
  [`UPDATE {summaries} SET checksum = 'x'`, 'repairable', 2, /made of other messages/],
  [`UPDATE {summaries} SET first_id = 'x'`, 'repairable', 2, /is not there/],
  [`UPDATE {summaries} SET created_at = ${noTime}`, 'damage', null, /summary up to message .* not a time/],
  [`UPDATE {conversations} SET metadata = '{x' WHERE next_seq = 7`, 'damage', null, /metadata .* cannot be/],
  [`UPDATE {conversations} SET tool_results = '{x' WHERE next_seq = 7`, 'damage', null, /tool result policy/],
  [`UPDATE {conversations} SET tags = '{x' WHERE next_seq = 7`, 'damage', null, /its tags cannot be read/],
  [`UPDATE {conversations} SET created_at = ${noTime} WHERE next_seq = 7`, 'damage', null, /creation time/],
  [`UPDATE {branches} SET updated_at = ${noTime} WHERE name = 'fork'`, 'damage', null, /branch fork/],
  [`UPDATE {turns} SET usage = '{x'`, 'damage', null, /usage of turn "turn" cannot be read/],
  [`UPDATE {turns} SET ended_at = ${noTime}`, 'damage', null, /end of turn "turn" cannot be read/],
  [`UPDATE {events} SET data = '{x'`, 'damage', null, /data of event 0 cannot be read/],
]

describe.each(drivers)('verify on $name', ({ name, open }) => {
  it('finds nothing in an intact store', async () => {
    const { store } = await open()
    await stock(store)
    expect(await found(store)).toEqual([])
  })

  it.each(damages)('finds damage: %s (R6)', async (change, severity, seq, what) => {
    const { store, change: damage } = await open()
    const { other } = await stock(store)
    await damage(change)
    const findings = await found(store)
    expect(findings).toContainEqual(
      expect.objectContaining({ severity, seq, what: expect.stringMatching(what) }),
    )
    // Damage hides nothing and makes nothing else look damaged (P5).
    expect(findings.filter(({ conversation }) => conversation === other)).toEqual([])
    expect(await store.verify({ conversations: [other] })).toMatchObject({ messages: 2, damaged: 0 })
  })

  it('reports the damaged message, and names its descendants without reporting them', async () => {
    const { store, change } = await open()
    const { ids, id } = await stock(store)
    await change(`UPDATE {messages} SET id = 'abcdefghijklmnopqrstuvwxyz234567' WHERE seq = 2`)
    const [finding, ...others] = (await found(store)).filter(({ branch }) => branch === null)
    expect(finding).toMatchObject({
      severity: 'damage',
      conversation: id,
      message: 'abcdefghijklmnopqrstuvwxyz234567',
      seq: 2,
      standing: [{ lo: 5, hi: 6 }],
    })
    expect(others.filter(({ message }) => ids.includes(message as MessageId) && message !== ids[2])).toEqual(
      [],
    )
  })

  it('accepts erased and deleted messages, also if equal ones were stored again (R6)', async () => {
    const { store } = await open()
    const { id, ids } = await stock(store)
    await store.eraseMessages([ids[2]!], { by: 'me', reason: 'because' })
    await store.deleteMessages([ids[3]!], { recursive: true })
    const fork = { conversationId: id, name: 'fork' }
    const [again] = await store.getMessages([ids[1]!])
    const at = new Date(again!.createdAt.getTime() + 5_000)
    for (const _ of [1, 2]) {
      const { ids: said } = await store.append(fork, ids[1]!, [
        { role: 'user', content: 'same', createdAt: at },
      ])
      await store.deleteMessages(said)
    }
    await store.append(fork, ids[1]!, [{ role: 'user', content: 'same', createdAt: at }])
    expect(await found(store)).toEqual([])
    expect(await store.verify()).toMatchObject({ messages: 8, erased: 1 })
  })

  it('finds nothing while others write', async () => {
    const { store } = await open()
    const { id } = await stock(store)
    const branch = { conversationId: id, name: 'main' }
    let isDone = false
    const writing = (async () => {
      for (let n = 0; !isDone; n++) {
        const { head } = await store.getBranch(branch)
        const { ids } = await store.append(branch, head, [{ role: 'user', content: `more ${n}` }])
        if (n % 3 === 0) await store.deleteMessages([ids[0]])
        await giveWay()
      }
    })()
    const findings: Finding[] = []
    for (let i = 0; i < 10; i++) findings.push(...(await found(store)))
    isDone = true
    await writing
    expect(findings).toEqual([])
  })

  it('reports a field that cannot be read as damage, in reads and in writes', async () => {
    const { store, change } = await open()
    const { id, ids } = await stock(store)
    const branch = { conversationId: id, name: 'main' }
    const step = (n: number) =>
      ({ turn: { key: 'open', step: n, holder, status: 'open', usage: { input: 1 } } }) as const
    const { head } = await store.append(branch, ids[6]!, [{ role: 'user', content: 'more' }], step(0))
    await change(`UPDATE {turns} SET usage = '{x'`)
    await change(`UPDATE {conversations} SET metadata = '{x' WHERE next_seq = 8`)
    const tries = {
      getConversation: () => store.getConversation(id),
      findWithTail: () => store.findWithTail(branch, { messages: 9 }),
      findTurn: () => store.findTurn(id, 'turn'),
      measure: () => store.measure(new Date(0)),
      append: () => store.append(branch, head, [{ role: 'assistant', content: 'still more' }], step(1)),
    }
    for (const [method, run] of Object.entries(tries))
      await expect(run(), method).rejects.toThrow(CorruptError)
    // What does not need the field is read as before.
    expect(await store.tail(head, { messages: 9 })).toMatchObject({ messages: { length: 6 } })
  })

  it('erases the data of an event that cannot be read with any message, because it may quote it', async () => {
    const { store, change } = await open()
    const { id, ids } = await stock(store)
    await store.addEvents(id, [{ type: 'permission', data: { said: 'something about one' } }])
    await change(`UPDATE {events} SET data = '{"said":"something about one"' WHERE type = 'permission'`)
    await store.eraseMessages([ids[0]!], { by: 'me', reason: 'because' })
    const { items } = await store.listEvents(id, { types: ['permission'] })
    expect(items.map(({ data }) => data)).toEqual([{ erased: true }])
  })

  it('reports data that belongs to no conversation', async () => {
    const { store, change } = await open()
    const { id, other } = await stock(store)
    const key = name === 'SQLite' ? `title = 'beside'` : `id = '${other}'`
    await change(`DELETE FROM {conversations} WHERE ${key}`)
    const findings = await found(store)
    expect(findings).toContainEqual(
      expect.objectContaining({
        severity: 'damage',
        what: expect.stringMatching(/^2 of messages belong to/),
      }),
    )
    expect(findings.filter(({ conversation }) => conversation === id)).toEqual([])
  })
})
