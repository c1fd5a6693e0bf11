import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import BetterSqlite3 from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import type { BranchRef } from '../../../src/core/branch.ts'
import {
  ConflictError,
  InvalidError,
  OutcomeUnknownError,
  UnavailableError,
} from '../../../src/core/errors.ts'
import { largeFrom } from '../../../src/core/large/weight.ts'
import { contentOf, type NewMessage } from '../../../src/core/message.ts'
import type { Store } from '../../../src/core/ports.ts'
import type { StoreRecord } from '../../../src/core/record.ts'
import { openSqliteStore, sqliteStore } from '../../../src/stores/sqlite/index.ts'
import { statementChannel } from '../../../src/system/debug.ts'

let folder: string
let file: string
let store: Store
let branch: BranchRef

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'large-'))
  file = join(folder, 'conversations.db')
  store = await openSqliteStore(file, { durability: 'normal', indexing: 'manual' })
  branch = (await store.create()).branch
})
afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true, force: true })
})

/** A text that becomes a blob, and JSON that stays in the body. Together with a name of 4 kB, of which Node
 *  keeps the bytes in a buffer that others share. */
const large = (): NewMessage => ({
  role: 'tool_result',
  content: [
    { type: 'text', text: 'grüße → '.repeat(largeFrom / 8) },
    {
      type: 'tool_result',
      callId: 'c',
      output: Array.from({ length: 9_000 }, (_, n) => ({ n, text: 'größe' })),
    },
    { type: 'file', mime: 'text/plain', name: 'n'.repeat(4_000), data: 'AAAA' },
  ],
})

/** The names of the statements that ran, with the thread of each: only this one publishes them one by one. */
function statements(): string[][] {
  const seen: string[][] = []
  const note = (message: unknown) => void seen.push([...(message as { statements: string[] }).statements])
  statementChannel.subscribe(note)
  onTestFinished(() => void statementChannel.unsubscribe(note))
  return seen
}

/** Ends the thread when a part of a transaction with this statement is sent to it. */
function endThreadAt(sql: string): void {
  const post = Worker.prototype.postMessage
  let isDone = false
  const posted = vi.spyOn(Worker.prototype, 'postMessage').mockImplementation(function (
    this: Worker,
    ...args: Parameters<typeof post>
  ) {
    const { kind, work } = args[0] as { kind: string; work: { statements: { sql: string }[] } }
    if (!isDone && kind === 'transact' && work.statements.some(one => one.sql.includes(sql))) {
      isDone = true
      void this.terminate()
    }
    return post.apply(this, args)
  })
  onTestFinished(() => posted.mockRestore())
}

const headOf = async () => (await store.getBranch(branch)).head

describe('a large append', () => {
  it('is one transaction of the thread, while the event loop turns', async () => {
    const seen = statements()
    let turns = 0
    const appending = store.append(branch, null, [large()])
    let isRunning = true
    void (async () => {
      while (isRunning) {
        await new Promise(resolve => setImmediate(resolve))
        turns++
      }
    })()
    const { head } = await appending
    isRunning = false
    // In a transaction of this thread, BEGIN and each statement would be published alone.
    expect(seen.map(names => names.join(' '))).toEqual([
      'lockBranch',
      'insertMessage',
      'putBlob putBlobRef setHead growIndexed',
    ])
    expect(turns).toBeGreaterThan(10)
    const [stored] = await store.getMessages([head])
    expect(contentOf(stored!)).toEqual(large().content)
    expect((await store.verify()).findings).toEqual({ damage: 0, repairable: 0, note: 0 })
  })

  it('sends its values before the transaction, and has the thread forget them also if it is refused', async () => {
    const posted = vi.spyOn(Worker.prototype, 'postMessage')
    onTestFinished(() => posted.mockRestore())
    const { head } = await store.append(branch, null, [large()])
    await expect(store.append(branch, null, [large()])).rejects.toBeInstanceOf(ConflictError)
    const kinds = posted.mock.calls.map(([message]) => (message as { kind: string }).kind)
    const order = kinds.filter((kind, i) => kind !== kinds[i - 1]).filter(kind => kind !== 'release')
    expect(order).toEqual(['keep', 'transact', 'forget', 'keep', 'transact', 'forget'])
    // The text, and the JSON of the body.
    expect(kinds.filter(kind => kind === 'forget')).toHaveLength(4)
    expect(await headOf()).toBe(head)
  })

  it('keeps its place in the order of the writes', async () => {
    const seen = statements()
    const writes = [
      store.append(branch, null, [large()]),
      store.addEvents(branch.conversationId, [{ type: 'plan' }]),
      store.save(branch.conversationId, [{ message: large(), parent: null }]),
      store.setKey(branch, 'key'),
    ]
    await Promise.all(writes)
    const order = seen.flat().filter(name => ['insertMessage', 'insertEvent', 'setBranchKey'].includes(name))
    expect(order).toEqual(['insertMessage', 'insertEvent', 'insertMessage', 'setBranchKey'])
  })

  it('is stored before the store is closed, and none after', async () => {
    const appending = store.append(branch, null, [large()])
    const closing = store.close()
    await expect(store.append(branch, null, [large()])).rejects.toBeInstanceOf(UnavailableError)
    const { head } = await appending
    await closing
    expect(existsSync(`${file}-wal`)).toBe(false)
    store = await openSqliteStore(file)
    expect(await headOf()).toBe(head)
  })

  it('that is refused does not stop the writes after it, nor close()', async () => {
    // Only the last step of preparing finds it: the JSON of strings without UTF-8 is six times as long.
    const output = Array.from({ length: 6 }, () => '\ud800'.repeat(2_000_000))
    const content: NewMessage['content'] = [{ type: 'tool_result', callId: 'c', output }]
    const refused = store.append(branch, null, [{ role: 'tool', content, tokens: 1 }])
    const next = store.append(branch, null, [{ role: 'user', content: 'next' }])
    const closing = store.close()
    await expect(refused).rejects.toBeInstanceOf(InvalidError)
    const { head } = await next
    await closing
    store = await openSqliteStore(file)
    expect(await headOf()).toBe(head)
  })

  it('waits for another process that is writing, while the event loop turns', async () => {
    const other = new BetterSqlite3(file, { timeout: 0 })
    onTestFinished(() => void other.close())
    other.exec('BEGIN IMMEDIATE')
    const appending = store.append(branch, null, [large()])
    const isDone = vi.fn()
    void appending.then(isDone)
    for (let i = 0; i < 50; i++) await new Promise(resolve => setTimeout(resolve, 1))
    expect(isDone).not.toHaveBeenCalled()
    other.exec('COMMIT')
    expect((await appending).head).toBe(await headOf())
  })

  it('is written by this thread if the other one ends before the commit', async () => {
    endThreadAt('INSERT INTO skein_messages')
    const { head } = await store.append(branch, null, [large()])
    expect(await headOf()).toBe(head)
    const [stored] = await store.getMessages([head])
    expect(contentOf(stored!)).toEqual(large().content)
  })

  it('has an unknown outcome if the thread ends in the commit, and its turn can be sent again', async () => {
    endThreadAt('UPDATE skein_branches')
    const turn = { key: 'turn', step: 0 }
    const lost = store.append(branch, null, [large()], { turn })
    await expect(lost).rejects.toBeInstanceOf(OutcomeUnknownError)
    const { head } = await store.append(branch, null, [large()], { turn })
    expect(await headOf()).toBe(head)
    expect((await store.getConversation(branch.conversationId)).messages).toBe(1)
  })

  it('is written at once on a borrowed handle, inside the transaction of its owner', async () => {
    const db = new BetterSqlite3(join(folder, 'borrowed.db'))
    onTestFinished(() => void db.close())
    const borrowed = await sqliteStore(db)
    const { branch: theirs } = await borrowed.create()
    db.exec('BEGIN')
    const appending = borrowed.append(theirs, null, [large()])
    db.exec('ROLLBACK')
    expect((await appending).committed).toBe(false)
    expect((await borrowed.getBranch(theirs)).head).toBeNull()
    const outside = borrowed.append(theirs, null, [large()])
    expect(db.prepare('SELECT count(*) FROM skein_messages').pluck().get()).toBe(1)
    await outside
  })

  it('is written without a thread in memory', async () => {
    await using memory = await openSqliteStore(':memory:')
    const { branch: there } = await memory.create()
    const { head } = await memory.append(there, null, [large()])
    const [stored] = await memory.getMessages([head])
    expect(contentOf(stored!)).toEqual(large().content)
  })
})

describe('a large append with a blob in parts', () => {
  const inParts = (megabytes: number): NewMessage => ({
    role: 'user',
    content: '0123456789abcdef'.repeat(megabytes * 65_536),
  })

  /** The kinds of messages to the thread, each once if it is repeated. */
  async function kindsOf(work: () => Promise<unknown>): Promise<string[]> {
    const posted = vi.spyOn(Worker.prototype, 'postMessage')
    await work()
    const kinds = posted.mock.calls.map(([message]) => (message as { kind: string }).kind)
    posted.mockRestore()
    return kinds.filter((kind, i) => kind !== kinds[i - 1]).filter(kind => kind !== 'release')
  }

  it('is one transaction of the thread, with a part in each statement', async () => {
    const seen = statements()
    const { head } = await store.append(branch, null, [inParts(6)])
    expect(seen.map(names => names.join(' '))).toEqual([
      'lockBranch',
      'insertMessage',
      'keepBlobs',
      'putLargeBlob',
      'deleteBlobParts putBlobPart putBlobPart putBlobPart putBlobPart',
      'putBlobPart putBlobPart putBlobRef setHead growIndexed',
    ])
    expect(contentOf((await store.getMessages([head]))[0]!) === inParts(6).content).toBe(true)
  })

  it('sends its parts before the transaction, and those of more than 64 MB with their statements', async () => {
    expect(await kindsOf(() => store.append(branch, null, [inParts(6)]))).toEqual([
      'keep',
      'transact',
      'forget',
    ])
    const larger = await kindsOf(async () => {
      const { head } = await store.append(branch, await headOf(), [inParts(66)])
      expect(contentOf((await store.getMessages([head]))[0]!) === inParts(66).content).toBe(true)
    })
    // Four parts at a time.
    const together = ['keep', 'transact', 'forget']
    expect(larger.slice(0, 4)).toEqual(['transact', 'keep', 'transact', 'forget'])
    expect(larger.slice(1)).toEqual(Array.from({ length: 17 }, () => together).flat())
    expect((await store.verify()).findings).toEqual({ damage: 0, repairable: 0, note: 0 })
  })

  it('leaves nothing if it is refused after some of its parts', async () => {
    const other = new BetterSqlite3(file, { timeout: 0 })
    onTestFinished(() => void other.close())
    other.exec(`CREATE TRIGGER full BEFORE INSERT ON skein_blob_parts WHEN NEW.part = 5
      BEGIN SELECT RAISE(ABORT, 'no room'); END`)
    for (const megabytes of [6, 66])
      await expect(store.append(branch, null, [inParts(megabytes)])).rejects.toThrow('no room')
    for (const table of ['messages', 'blobs', 'blob_parts'])
      expect(other.prepare(`SELECT count(*) FROM skein_${table}`).pluck().get(), table).toBe(0)
    other.exec('DROP TRIGGER full')
    await store.append(branch, null, [inParts(6)])
  })

  it('is written by this thread if the other one ends among its parts', async () => {
    endThreadAt('INSERT INTO skein_blob_parts')
    const { head } = await store.append(branch, null, [inParts(66)])
    expect(await headOf()).toBe(head)
    expect(contentOf((await store.getMessages([head]))[0]!) === inParts(66).content).toBe(true)
  })

  it('of records is written by the thread too, while the event loop turns', async () => {
    const { head } = await store.append(branch, null, [inParts(20)])
    const records: StoreRecord[] = []
    for await (const record of store.readRecords(branch.conversationId))
      if (record.kind !== 'unreadable') records.push(record)
    await using copy = await openSqliteStore(join(folder, 'copy.db'), { indexing: 'manual' })
    const kinds = await kindsOf(async () => {
      const outcomes = await copy.writeRecords(records as [StoreRecord])
      expect(outcomes.every(({ outcome }) => outcome === 'added')).toBe(true)
    })
    expect(kinds).toEqual(['keep', 'transact', 'forget'])
    expect(contentOf((await copy.getMessages([head]))[0]!) === inParts(20).content).toBe(true)
  })

  it('is read while the event loop turns', async () => {
    const { head } = await store.append(branch, null, [inParts(40)])
    const { hash } = (await store.getMessages([head], { blobs: 'preview' }))[0]!.blobs[0]!
    // A clock that has advanced by 11 ms at each look.
    let time = 0
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => (time += 11))
    onTestFinished(() => clock.mockRestore())
    let turns = 0
    let isRunning = true
    void (async () => {
      while (isRunning) {
        await new Promise(resolve => setImmediate(resolve))
        turns++
      }
    })()
    expect((await store.readBlob(hash)).length).toBe(40 * 1_048_576)
    isRunning = false
    expect(turns).toBeGreaterThanOrEqual(10)
  })
})

describe('a result with a list of 200,000 members', () => {
  it('is searched, indexed and deleted', async () => {
    const output = ['needle', ...Array.from({ length: 200_000 }, (_, n) => n)]
    const content: NewMessage['content'] = [{ type: 'tool_result', callId: 'c', output }]
    const { head } = await store.append(branch, null, [{ role: 'tool', content }])
    await store.addEvents(branch.conversationId, [{ type: 'plan', data: { text: 'needle in a haystack' } }])
    const found = async () => (await store.search('needle')).items.map(hit => hit.message.id)
    expect(await found()).toEqual([head])
    await store.indexSearch()
    expect(await found()).toEqual([head])
    expect((await store.deleteMessages([head])).deleted).toBe(1)
    expect(await found()).toEqual([])
  })
})

describe('a process that is killed during a large append', () => {
  /** The last statement before the kill, and whether the message is stored. */
  const moments = { preparing: false, lockBranch: false, insertMessage: false, putBlob: true }

  it('leaves all or nothing, at any moment', { timeout: 60_000 }, async () => {
    const branches = await Promise.all(Object.keys(moments).map(async () => (await store.create()).branch))
    await store.close()
    const children = Object.keys(moments).map(async (moment, i) => {
      const script = appendingIn(file, branches[i]!, moment)
      const [, signal] = await once(spawn(process.execPath, ['--input-type=module', '-e', script]), 'exit')
      expect(signal).toBe('SIGKILL')
    })
    await Promise.all(children)
    store = await openSqliteStore(file)
    for (const [i, isStored] of Object.values(moments).entries()) {
      const { conversationId: id, name } = branches[i]!
      const { head } = await store.getBranch({ conversationId: id, name })
      expect(head !== null).toBe(isStored)
      expect((await store.getConversation(id)).messages).toBe(isStored ? 1 : 0)
      await store.append(branches[i]!, head, [{ role: 'user', content: 'next' }])
    }
    expect((await store.verify()).findings).toEqual({ damage: 0, repairable: 0, note: 0 })
  })
})

/** Appends a message of 3 MB, and kills itself after the statement. */
function appendingIn(path: string, ref: BranchRef, moment: string): string {
  const source = (name: string) => JSON.stringify(new URL(`../../../src/${name}`, import.meta.url).href)
  return `
    import { openSqliteStore } from ${source('stores/sqlite/index.ts')}
    import { statementChannel } from ${source('system/debug.ts')}
    const end = () => process.kill(process.pid, 'SIGKILL')
    const store = await openSqliteStore(${JSON.stringify(path)}, { indexing: 'manual' })
    statementChannel.subscribe(({ statements: [name] }) => { if (name === '${moment}') end() })
    const appending = store.append(${JSON.stringify(ref)}, null, [{ role: 'user', content: 'word '.repeat(600_000) }])
    if ('${moment}' === 'preparing') setImmediate(end)
    await appending
  `
}
