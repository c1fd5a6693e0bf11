import { strict as assert } from 'node:assert'
import { hashMessage, sha256Hex } from '../../core/hash.ts'
import type { MessageId } from '../../core/ids.ts'
import type { MessageRecord, StoreRecord } from '../../core/record.ts'
import {
  appendTexts,
  casesOf,
  holder,
  noConversation,
  noMessage,
  rejects,
  said,
  say,
  startConversation,
} from './build.ts'
import type { ContractCase } from './contract-case.ts'
import { allOf, fill, forget, one, recordsOf, write, writeAll } from './records-build.ts'

const it = casesOf('records')

export const transferCases: readonly ContractCase[] = [
  it('restores a conversation completely from its records', async ({ store, clock }) => {
    const id = await fill(store)
    const before = await recordsOf(store, id)
    const shown = await store.getConversation(id)
    const kinds = new Set(before.map(({ kind }) => kind))
    assert.equal(kinds.size, 10, [...kinds].join())
    await forget(store, id)
    // Times come from the records, not from the clock.
    clock.now += 3_600_000
    await writeAll(store, before, 'added')
    assert.deepEqual(await recordsOf(store, id), before)
    const { version: _, ...after } = await store.getConversation(id)
    const { version: __, ...was } = shown
    assert.deepEqual(after, was)
  }),

  it('reads the former prompt policy `message` of a record as `stored`', async ({ store }) => {
    const id = await fill(store)
    const records = await recordsOf(store, id)
    await forget(store, id)
    const former = records.map(record =>
      record.kind === 'conversation' ? { ...record, promptPolicy: 'message' } : record,
    )
    await writeAll(store, former as StoreRecord[], 'added')
    assert.equal((await store.getConversation(id)).promptPolicy, 'stored')
  }),

  it('returns records in an order in which they can be written: parents, blobs and messages first', async ({
    store,
  }) => {
    const records = await recordsOf(store, await fill(store))
    assert.deepEqual(
      [...new Set(records.map(({ kind }) => (kind === 'tombstone' || kind === 'blob' ? 'message' : kind)))],
      ['conversation', 'message', 'turn', 'draft', 'summary', 'event', 'branch', 'agent_link'],
    )
    const seqs = records.flatMap(record =>
      record.kind === 'message' || record.kind === 'tombstone' ? [record.seq] : [],
    )
    assert.deepEqual(
      seqs,
      seqs.map((_, i) => i),
    )
    // In any other order, records are refused.
    const id = one(records, 'conversation').id
    await forget(store, id)
    const written = await write(store, records.toReversed())
    assert.ok(
      written.every(({ outcome }, i) => outcome === 'refused' || records.at(-1 - i)?.kind === 'conversation'),
    )
  }),

  it('adds nothing the second time and increments no version', async ({ store }) => {
    const id = await fill(store)
    const records = await recordsOf(store, id)
    const version = await store.versionOf(id)
    await writeAll(store, records, 'present')
    assert.equal(await store.versionOf(id), version)
    await forget(store, id)
    await writeAll(store, records, 'added')
    const anew = await store.versionOf(id)
    await writeAll(store, records, 'present')
    assert.equal(await store.versionOf(id), anew)
    assert.deepEqual(await recordsOf(store, id), records)
  }),

  it('accepts records in any parts and gives the same result after an interruption (R2)', async ({
    store,
  }) => {
    const id = await fill(store)
    const records = await recordsOf(store, id)
    // A blob is written with the next message.
    const ends = records.flatMap(({ kind }, i) => (kind === 'blob' ? [] : [i + 1]))
    for (const end of ends.filter((_, i) => i % 3 === 0)) {
      await forget(store, id)
      for (let from = 0; from < end; ) {
        const to = ends.find(candidate => candidate > from)!
        await writeAll(store, records.slice(from, to), 'added')
        from = to
      }
      await write(store, records)
      assert.deepEqual(await recordsOf(store, id), records)
    }
  }),

  it('continues a restored conversation: appends, forks, takes over a turn', async ({ store, clock }) => {
    const id = await fill(store)
    const records = await recordsOf(store, id)
    const { head } = await store.getBranch({ conversationId: id, name: 'main' })
    await forget(store, id)
    await writeAll(store, records, 'added')
    const main = { conversationId: id, name: 'main' }
    const next = await store.append(main, head, [say('five')])
    const [message] = await store.getMessages([next.head])
    assert.equal(message?.seq, allOf(records, 'message').length + allOf(records, 'tombstone').length)
    await rejects(store.append({ conversationId: id, name: 'fork' }, null, [say('no')]), 'busy')
    clock.now += 60_000
    const ended = await store.endTurn(id, 't2', { status: 'interrupted', heldBy: holder() })
    assert.deepEqual((await said(store, { conversationId: id, name: 'fork' })).at(-1), 'half \ud83d')
    assert.ok(ended.message)
    assert.equal((await store.findByKey('kept'))?.conversation.id, id)
    assert.equal((await store.findByAgentLink('agent', 'f'))?.conversation.id, id)
  }),

  it('finds restored messages by search, including blobs, but not erased content', async ({ store }) => {
    const id = await fill(store)
    const records = await recordsOf(store, id)
    await forget(store, id)
    await writeAll(store, records, 'added')
    assert.equal((await store.search('four')).items.length, 1)
    assert.equal((await store.search('large')).items.length, 1)
    assert.equal((await store.search('two')).items.length, 0)
  }),

  it('leaves out messages written while the records are read', async ({ store }) => {
    const { conversation, branch } = await startConversation(store)
    const before = await recordsOf(store, conversation.id)
    const seen: StoreRecord[] = []
    for await (const record of store.readRecords(conversation.id)) {
      assert.ok(record.kind !== 'unreadable')
      seen.push(record)
      if (seen.length === 1) await appendTexts(store, branch, 'late')
      if (seen.length === 2) await store.createBranch(conversation.id, null, { name: 'late' })
    }
    assert.deepEqual(seen, before)
  }),

  it('returns existing heads, also if they were deleted while the records were read', async ({ store }) => {
    const { conversation, ids } = await startConversation(store)
    const seen: StoreRecord[] = []
    for await (const record of store.readRecords(conversation.id)) {
      assert.ok(record.kind !== 'unreadable')
      if (seen.length === 0) await store.deleteMessages([ids[1]], { recursive: true })
      seen.push(record)
    }
    assert.equal(one(seen, 'branch').head, ids[0])
    await forget(store, conversation.id)
    await writeAll(store, seen, 'added')
  }),

  it('refuses a record with a wrong hash and its dependents, and accepts the others (R26)', async ({
    store,
  }) => {
    const { conversation, branch, ids } = await startConversation(store)
    await store.createBranch(conversation.id, ids[0], { name: 'side' })
    const records = await recordsOf(store, conversation.id)
    const changes: Partial<MessageRecord>[] = [
      { body: '{"blocks":"TWO"}' },
      { body: '{"blocks":"TWO"}', bodyHash: sha256Hex('{"blocks":"TWO"}') },
      { role: 'user' },
      { at: 5 },
      { parentId: null },
      { parentId: noMessage },
      { id: noMessage },
      { erased: { at: 1, by: 'x', reason: '' } },
      { body: null },
      { tokens: -1 },
      { tokens: 2 ** 40 },
      { label: '' },
      { turn: noMessage },
    ]
    for (const change of changes) {
      await forget(store, conversation.id)
      const bad = records.map(record =>
        record.kind === 'message' && record.id === ids[1] ? { ...record, ...change } : record,
      )
      const written = await write(store, bad)
      const outcomes = written.map(({ outcome }, i) => `${records[i]!.kind} ${outcome}`)
      assert.deepEqual(outcomes, [
        'conversation added',
        'message added',
        'message refused',
        'message refused',
        'branch refused',
        'branch added',
      ])
      assert.deepEqual(await said(store, { conversationId: conversation.id, name: 'side' }), ['one'])
      // Missing records are added later, after the others, with the same result.
      await write(store, records)
      assert.deepEqual(await said(store, branch), ['one', 'two', 'three'])
    }
  }),

  it('refuses a body with a correct hash that no reader could read', async ({ store }) => {
    const { conversation } = await startConversation(store)
    const message = one(await recordsOf(store, conversation.id), 'message')
    const bodies = [
      ...[
        '',
        'null',
        '[]',
        '{}',
        '{"blocks":1}',
        '{"blocks":[1]}',
        '{"blocks":[{"type":"text"}]}',
        '{"blocks":"x"',
      ],
      ...[
        '{"blocks":"x","meta":1}',
        `{"blocks":${'['.repeat(300)}${']'.repeat(300)}}`,
        '{"blocks":"\ud800"}',
      ],
      `{"blocks":{ "$blob":"${'0'.repeat(64)}","bytes":3}}`,
      `{"blocks":{"$blob":"${'0'.repeat(64)}","bytes":20000}}`,
    ]
    for (const body of bodies) {
      const bodyHash = sha256Hex(body)
      const id = hashMessage(conversation.id, message.role, message.at, bodyHash)
      const [written] = await write(store, [{ ...message, id, body, bodyHash }])
      assert.equal(written?.outcome, 'refused', body)
    }
    assert.equal((await store.getConversation(conversation.id)).messages, 3)
  }),

  it('stores a blob only with a message that refers to it', async ({ store }) => {
    const { conversation, branch } = await store.create()
    await appendTexts(store, branch, 'x'.repeat(20_000), 'y', 'x'.repeat(20_000))
    const records = await recordsOf(store, conversation.id)
    const [itself, blob, first, second, third, main] = records as [
      StoreRecord,
      StoreRecord & { kind: 'blob' },
      ...StoreRecord[],
    ]
    assert.equal(blob.kind, 'blob')
    assert.equal(records.length, 6)
    await forget(store, conversation.id)
    const outcomes = async (...some: StoreRecord[]) =>
      (await write(store, some)).map(({ outcome }) => outcome).join()
    assert.equal(await outcomes(blob), 'refused')
    assert.equal(await outcomes(itself!, first!, second!), 'added,refused,refused')
    assert.equal(await outcomes({ ...blob, data: new Uint8Array(20_000) }, first!), 'refused,refused')
    assert.equal(await outcomes(blob, { ...first, at: 1 } as never), 'refused,refused')
    await rejects(store.readBlob(blob.hash), 'not_found')
    assert.equal(await outcomes(blob, first!, second!, third!, main!), 'added,added,added,added,added')
    assert.equal(await outcomes(blob, first!), 'present,present')
    assert.deepEqual(await said(store, branch), ['x'.repeat(20_000), 'y', 'x'.repeat(20_000)])
    // The blob is removed with the last message that refers to it.
    await forget(store, conversation.id)
    await rejects(store.readBlob(blob.hash), 'not_found')
  }),

  it('refuses invalid values in every field and writes nothing of them', async ({ store }) => {
    const id = await fill(store)
    const records = await recordsOf(store, id)
    const version = await store.versionOf(id)
    const strange: unknown[] = [
      undefined,
      -1,
      0.5,
      2 ** 60,
      '',
      '\ud800',
      'x\0y',
      [],
      {},
      true,
      'z'.repeat(20_000_000),
    ]
    for (const record of records.filter(
      (some, i) => records.findIndex(other => other.kind === some.kind) === i,
    )) {
      const fields = Object.keys(record).filter(field => field !== 'kind')
      for (const field of fields) {
        for (const value of strange) await write(store, [{ ...record, [field]: value } as never])
      }
    }
    for (const record of [null, 1, 'x', [], {}, { kind: 'x' }, { kind: 'message' }]) {
      const [written] = await write(store, [record as never])
      assert.equal(written?.outcome, 'refused')
    }
    await rejects(store.writeRecords([] as never), 'invalid')
    // Only fields without a hash can change to another valid value.
    const [messages, after] = [allOf(records, 'message'), allOf(await recordsOf(store, id), 'message')]
    assert.deepEqual(after, messages)
    assert.ok((await store.versionOf(id)) >= version)
  }),

  it('refuses to read a missing conversation and one that is being purged', async ({ store }) => {
    await rejects(store.readRecords(noConversation)[Symbol.asyncIterator]().next(), 'not_found')
    await rejects(
      store
        .readRecords('x' as never)
        [Symbol.asyncIterator]()
        .next(),
      'invalid',
    )
    const { conversation, ids } = await startConversation(store)
    const records = await recordsOf(store, conversation.id)
    await forget(store, conversation.id)
    const written = await write(store, records.slice(1))
    assert.ok(written.every(({ outcome }) => outcome === 'refused'))
    await rejects(store.getMessages([ids[0] as MessageId]), 'not_found')
  }),
]
