import { copyFileSync } from 'node:fs'
import BetterSqlite3 from 'better-sqlite3'
import { describe, expect, it } from 'vitest'
import type { MessageId } from '../../src/core/ids.ts'
import { textOf } from '../../src/core/message.ts'
import { collectPages } from '../../src/core/pages.ts'
import { pathOf } from '../../src/core/path.ts'
import type { BranchInConversation, Store } from '../../src/core/ports.ts'
import { beginTurn, type Trouble } from '../../src/recorder/index.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'
import { appendTexts, holder, say } from '../../src/testing/contract/build.ts'
import { importAll } from './an-import.ts'
import { note } from './note.ts'
import { isFull } from './size.ts'
import { limitedFile, type SmallDisk, smallTmpfs, whyNoTmpfs } from './small-disk.ts'

/** In the gate a file that may not grow; in the battery a disk that is really full. */
const disks: readonly { name: string; make(): Promise<SmallDisk>; impossible: string | null }[] = [
  { name: 'a file that may not grow', make: limitedFile, impossible: null },
  {
    name: 'a disk of four megabytes',
    make: smallTmpfs,
    impossible: isFull ? whyNoTmpfs() : 'a small disk is made by npm run battery -- disk-full',
  },
]

const large = 'x'.repeat(3_000)
const full = { name: 'StorageFullError', code: 'storage_full' }

/** Writes until there is no space; returns the acknowledged messages. */
async function sayUntilFull(
  store: Store,
  { branch }: BranchInConversation,
  told: 'after' | 'before' = 'after',
) {
  let head: MessageId | null = null
  const words: string[] = []
  for (let n = 0; ; n++) {
    const [question, answer] = [`question ${n} ${large}`, `answer ${n} ${large}`]
    if (told === 'before') words.push(question, answer)
    try {
      head = (await store.append(branch, head, [say(question), say(answer, 'assistant')])).head
    } catch (error) {
      expect(error).toMatchObject(full)
      return { head: head!, told: words }
    }
    if (told === 'after') words.push(question, answer)
    await new Promise(setImmediate)
  }
}

/** One of each kind of write, on a conversation with an open turn. */
const writes: Record<
  string,
  (store: Store, place: BranchInConversation, head: MessageId) => Promise<unknown>
> = {
  create: store => store.create({ metadata: { large } }),
  append: (store, { branch }, head) => store.append(branch, head, [say(large)], { onConflict: 'fork' }),
  'append of a blob': (store, { branch }, head) =>
    store.append(branch, head, [say('x'.repeat(400_000))], { onConflict: 'fork' }),
  save: (store, { conversation }) => store.save(conversation.id, [{ message: say(large), parent: null }]),
  putDraft: (store, { conversation }) =>
    store.putDraft(conversation.id, 'open', holder(), [{ n: 0, type: 'text', text: large }]),
  addEvents: (store, { conversation }) =>
    store.addEvents(conversation.id, [{ type: 'degraded', data: { large } }]),
  endTurn: (store, { conversation }) =>
    store.endTurn(conversation.id, 'open', { status: 'interrupted', heldBy: holder() }),
  createBranch: (store, { conversation }, head) =>
    store.createBranch(conversation.id, head, { name: 'b', title: 'x'.repeat(2_000) }),
  updateConversation: (store, { conversation }) =>
    store.updateConversation(conversation.id, { metadata: { large } }),
  claimSummary: (store, { conversation }, head) =>
    store.claimSummary(conversation.id, { first: head, last: head }, holder()),
  trash: (store, { conversation }) => store.trash(conversation.id),
  import: store => importAll(store, () => {}),
}

describe.each(disks)('$name when it is full', ({ make, impossible }) => {
  const unless = { skip: impossible !== null }

  it(
    'is reported as storage_full, keeps every acknowledged write, and works again with more space (R4)',
    unless,
    async () => {
      const { file, store, free } = await make()
      const place = await store.create({ key: 'k' })
      const { head, told } = await sayUntilFull(store, place)
      expect(told.length).toBeGreaterThan(10)
      expect((await pathOf(store, head)).map(textOf)).toEqual(told)
      expect(await store.getConversation(place.conversation.id)).toMatchObject({ messages: told.length })
      // As much as was refused: a single message may still find a page.
      await expect(store.append(place.branch, head, [say(large), say(large)])).rejects.toMatchObject(full)

      free()
      const again = await store.append(place.branch, head, [say('there is space again')])
      expect((await pathOf(store, again.head)).map(textOf)).toEqual([...told, 'there is space again'])
      const db = new BetterSqlite3(file)
      expect(db.pragma('integrity_check', { simple: true })).toBe('ok')
      db.close()
      note('acknowledged', told.length)
      note('stored', told.length)
    },
  )

  it('refuses every kind of write completely or performs it (R4)', unless, async () => {
    const disk = await make()
    const { store } = disk
    const place = await store.create({ key: 'k' })
    const { head } = await appendTexts(store, place, 'one', 'two')
    const other = await store.create()
    const { head: end } = await store.append(other.branch, null, [say('open')], {
      turn: { key: 'open', step: 0, status: 'open', holder: holder() },
    })
    await sayUntilFull(store, await store.create())
    disk.fillUp()
    let refused = 0
    for (const [name, write] of Object.entries(writes)) {
      const before = await factsOf(store)
      const where = name === 'putDraft' || name === 'endTurn' ? other : place
      const error = await write(store, where, where === other ? end : head).then(
        () => null,
        one => one,
      )
      if (error === null) continue
      expect(error, name).toMatchObject(full)
      expect(await factsOf(store), name).toEqual(before)
      refused++
    }
    note('kinds of writes', Object.keys(writes).length)
    note('refused', refused)
    expect(refused).toBeGreaterThan(2)
    disk.free()
    for (const [name, write] of Object.entries(writes)) {
      const fresh = await store.create()
      const { head } = await store.append(fresh.branch, null, [say('open')], {
        turn: { key: 'open', step: 0, status: 'open', holder: holder() },
      })
      await write(store, fresh, head).catch(error => expect.fail(`${name}: ${error}`))
    }
  })

  it('lets a turn continue, which is stored when there is space again (R4)', unless, async () => {
    const disk = await make()
    const { store } = disk
    const { branch } = await store.create()
    const troubles: Trouble['kind'][] = []
    const turn = await beginTurn(store, branch, {
      words: [say('Tell me everything.')],
      onTrouble: ({ kind }) => troubles.push(kind),
    })
    await sayUntilFull(store, await store.create())
    disk.fillUp()
    turn.draft({ type: 'text', text: large })
    expect(await turn.add([say(`Everything: ${large.repeat(4)}`, 'assistant')])).toEqual({ ids: null })
    expect(troubles).toContain('degraded')
    disk.free()
    expect(await turn.end('complete')).toMatchObject({ saved: true, status: 'complete' })
    const { head } = await store.getBranch(branch)
    const said = (await pathOf(store, head!)).map(textOf)
    expect(said).toEqual(['Tell me everything.', `Everything: ${large.repeat(4)}`])
  })
})

const noTmpfs = whyNoTmpfs()
it.skipIf(noTmpfs !== null)(
  `a store that is opened on a full disk can be read, also after a crash, and written when there is space${noTmpfs ? `: ${noTmpfs}` : ''} (R4)`,
  async () => {
    const { file, store, fillUp, free } = await smallTmpfs()
    const { branch } = await store.create({ key: 'k' })
    const { head } = await store.append(branch, null, [say('one')])
    // As a crash leaves the files: the words are only in the write-ahead log, and the shared memory is gone.
    const crashed = file.replace('a.db', 'crashed.db')
    for (const end of ['', '-wal']) copyFileSync(file + end, crashed + end)
    await store.close()
    fillUp()
    for (const path of [file, crashed]) {
      await using other = await openSqliteStore(path)
      expect((await pathOf(other, head)).map(textOf)).toEqual(['one'])
      expect(await other.search('one')).toMatchObject({ items: [{}], unindexed: 0 })
      for (let i = 0; i < 3; i++) {
        await expect(other.append(branch, head, [say('two')])).rejects.toMatchObject({
          ...full,
          message: `the disk is full: ${path}`,
        })
      }
    }
    await using waiting = await openSqliteStore(file)
    await using closed = await openSqliteStore(crashed)
    await closed.close()
    free()
    const writes = ['two', 'three'].map(text =>
      waiting.append(branch, head, [say(text)], { onConflict: 'fork' }),
    )
    expect((await Promise.all(writes)).map(({ outcome }) => outcome)).toEqual(['appended', 'forked'])
    expect(await waiting.search('one')).toMatchObject({ items: [{}], unindexed: 0 })
    await expect(closed.append(branch, head, [say('two')])).rejects.toMatchObject({ code: 'unavailable' })
  },
)

it('control: loses writes that were acknowledged before they were stored', async () => {
  const { store } = await limitedFile()
  const { head, told } = await sayUntilFull(store, await store.create(), 'before')
  expect((await pathOf(store, head)).map(textOf)).not.toEqual(told)
})

/** All data that could be half-written. */
async function factsOf(store: Store): Promise<unknown> {
  const { items } = await store.listConversations({ limit: 100 })
  return Promise.all(
    items.map(async ({ id }) => [
      await store.getConversation(id),
      await collectPages(page => store.listBranches(id, page)),
      await collectPages(page => store.listTurns(id, page)),
      await collectPages(page => store.listEvents(id, page)),
      (await store.listMessages({ conversationId: id, limit: 1_000 })).items.map(one => one.id),
    ]),
  )
}
