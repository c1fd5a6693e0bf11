import { strict as assert } from 'node:assert'
import type { NotFoundError } from '../../core/errors.ts'
import { sha256Hex } from '../../core/hash.ts'
import { contentOf, type NewMessage } from '../../core/message.ts'
import { pathOf } from '../../core/path.ts'
import type { Store } from '../../core/ports.ts'
import { casesOf, rejects, say } from './build.ts'
import type { ContractCase } from './contract-case.ts'
import { forget, recordsOf, writeAll } from './records-build.ts'

const it = casesOf('large blobs')

/** More bytes than a driver stores in one value. Different everywhere, so that no two parts of it are equal,
 *  and with characters that cross every border. */
function text(first: string): string {
  let made = `${first} `
  for (let n = 0; made.length < 4_500_001; n++) made += `${n} grüße → 👋 `
  return made
}

function noise(length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => (i * 31 + (i >> 8) + (i >> 16)) & 255)
}

async function isClean(store: Store): Promise<void> {
  assert.deepEqual((await store.verify()).findings, { damage: 0, repairable: 0, note: 0 })
}

async function isGone(store: Store, hash: string): Promise<void> {
  const error = await rejects<NotFoundError>(store.readBlob(hash), 'not_found')
  assert.deepEqual([error.kind, error.id], ['blob', hash])
}

export const largeBlobCases: readonly ContractCase[] = [
  it('returns a large text and large data with every byte, in every way of reading', async ({ store }) => {
    const { conversation, branch } = await store.create()
    const long = text('first')
    const bytes = noise(5_500_003)
    const data = Buffer.from(bytes).toString('base64')
    const content: NewMessage['content'] = [
      { type: 'text', text: long },
      { type: 'image', mime: 'image/png', data },
      { type: 'text', text: 'x'.repeat(20_000) },
    ]
    const { head } = await store.append(branch, null, [{ role: 'user', content }])
    const conversationId = conversation.id
    const reads = [
      (await store.getMessages([head]))[0],
      (await pathOf(store, head))[0],
      (await store.tail(head, { messages: 1 })).messages[0],
      (await store.listMessages({ conversationId })).items[0],
      (await store.readPathSection(head)).messages[0],
    ]
    for (const read of reads) {
      // As text: comparing millions of bytes one by one is slow.
      assert.ok(JSON.stringify(read!.content) === JSON.stringify(content))
      assert.ok(read!.blobs.every(({ whole }) => whole))
    }
    const [inText, inData] = reads[0]!.blobs
    assert.deepEqual([inText!.bytes, inData!.bytes], [Buffer.byteLength(long), bytes.length])
    assert.ok(Buffer.from(await store.readBlob(inText!.hash)).toString() === long)
    assert.ok(Buffer.from(await store.readBlob(sha256Hex(bytes))).equals(bytes))
    await isClean(store)
  }),
  it('returns the beginning of a large text, no large data, and their sizes in a preview', async ({
    store,
  }) => {
    const { conversation, branch } = await store.create()
    const long = text('first')
    const bytes = noise(5_500_003)
    const content: NewMessage['content'] = [
      { type: 'text', text: long },
      { type: 'image', mime: 'image/png', data: Buffer.from(bytes).toString('base64') },
      { type: 'text', text: 'small' },
    ]
    const { head } = await store.append(branch, null, [{ role: 'user', content }])
    const preview = { blobs: 'preview' } as const
    const [read] = await store.getMessages([head], preview)
    const [shown] = read!.content as unknown as readonly { text: string }[]
    assert.ok(long.startsWith(shown!.text))
    assert.ok(Buffer.byteLength(shown!.text) > 1_000 && Buffer.byteLength(shown!.text) <= 1_024)
    assert.deepEqual(read!.content.slice(1), [
      { type: 'image', mime: 'image/png', data: '' },
      { type: 'text', text: 'small' },
    ])
    assert.deepEqual(
      read!.blobs.map(({ bytes: size, whole }) => [size, whole]),
      [
        [Buffer.byteLength(long), false],
        [bytes.length, false],
      ],
    )
    assert.deepEqual((await store.tail(head, { messages: 1 }, preview)).messages, [read])
    assert.deepEqual((await store.listMessages({ conversationId: conversation.id, ...preview })).items, [
      read,
    ])
  }),
  it('finds a large text by a word at its beginning, indexed or not, and no longer once it is erased', async ({
    store,
  }) => {
    const { branch } = await store.create()
    const { head } = await store.append(branch, null, [say(text('a pangolin speaks'))])
    const found = async () => (await store.search('pangolin')).items
    assert.deepEqual(
      (await found()).map(({ message }) => message.id),
      [head],
    )
    await store.indexSearch()
    const [hit] = await found()
    assert.equal(hit!.message.id, head)
    assert.ok(JSON.stringify(hit!.snippet).includes('pangolin'))
    await store.eraseMessages([head], { by: 'me', reason: 'private' })
    assert.deepEqual(await found(), [])
    await isClean(store)
  }),
  it('stores equal large data once, and keeps it as long as a message refers to it', async ({ store }) => {
    const long = text('said twice')
    const hash = sha256Hex(long)
    const bytes = Buffer.byteLength(long)
    const a = await store.create()
    const b = await store.create()
    const twice: NewMessage = {
      role: 'user',
      content: [
        { type: 'text', text: long },
        { type: 'text', text: long },
      ],
    }
    const inA = await store.append(a.branch, null, [twice, say(long, 'assistant')])
    const inB = await store.append(b.branch, null, [say(long)])
    assert.deepEqual((await store.measure(new Date(0))).blobs, { count: 1, bytes })
    await store.eraseMessages(inA.ids, { by: 'me', reason: 'private' })
    assert.ok(contentOf((await store.getMessages([inB.head]))[0]!) === long)
    await store.deleteMessages([inB.head])
    await isGone(store, hash)
    assert.deepEqual((await store.measure(new Date(0))).blobs, { count: 0, bytes: 0 })
    // Nothing of it is left that would prevent storing it again.
    const again = await store.append(b.branch, null, [say(long)])
    assert.ok(contentOf((await store.getMessages([again.head]))[0]!) === long)
    await isClean(store)
  }),
  it('removes large data with its conversation', async ({ store }) => {
    const long = text('purged')
    const { conversation, branch } = await store.create()
    await store.append(branch, null, [say(long)])
    await forget(store, conversation.id)
    await isGone(store, sha256Hex(long))
    assert.deepEqual((await store.measure(new Date(0))).blobs, { count: 0, bytes: 0 })
    await isClean(store)
  }),
  it('writes and reads large data as records, once and again', async ({ store }) => {
    const { conversation, branch } = await store.create()
    const long = text('moved')
    const { head } = await store.append(branch, null, [say('before'), say(long, 'assistant')])
    const before = await recordsOf(store, conversation.id)
    await forget(store, conversation.id)
    await writeAll(store, before, 'added')
    await writeAll(store, before, 'present')
    const after = await recordsOf(store, conversation.id)
    const kinds = after.map(({ kind }) => kind)
    assert.deepEqual(
      kinds,
      before.map(({ kind }) => kind),
    )
    const blob = after.find(record => record.kind === 'blob')
    assert.ok(Buffer.from(blob!.data).toString() === long)
    assert.ok(contentOf((await store.getMessages([head]))[0]!) === long)
    await isClean(store)
  }),
  it('stores nothing of a large append that is refused', async ({ store }) => {
    const { branch } = await store.create()
    await store.append(branch, null, [say('there')])
    const late = text('too late')
    await rejects(store.append(branch, null, [say(late)]), 'conflict')
    await isGone(store, sha256Hex(late))
    assert.deepEqual((await store.measure(new Date(0))).blobs, { count: 0, bytes: 0 })
    await isClean(store)
  }),
]
