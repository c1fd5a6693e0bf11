import { strict as assert } from 'node:assert'
import type { Block, NewBlock } from '../../core/block.ts'
import type { InvalidError, NotFoundError } from '../../core/errors.ts'
import { sha256Hex } from '../../core/hash.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { contentOf, type Message, type NewMessage } from '../../core/message.ts'
import { pathOf } from '../../core/path.ts'
import type { ReadOptions, Store } from '../../core/ports.ts'
import { casesOf, rejects, say } from './build.ts'
import type { ContractCase } from './contract-case.ts'

const it = casesOf('blobs')
const limit = 16_384
const preview = { blobs: 'preview' } as const

async function store1(store: Store, message: NewMessage): Promise<Message['id']> {
  const { branch } = await store.create()
  return (await store.append(branch, null, [message])).head
}

async function roundTrip(store: Store, message: NewMessage, options?: ReadOptions): Promise<Message> {
  const [read] = await store.getMessages([await store1(store, message)], options)
  return read!
}

const call = (input: Json): Block => ({ type: 'tool_call', callId: 'c1', name: 'run', input })

/** Binary data, and its base64. */
function noise(length: number): { bytes: Uint8Array; base64: string } {
  const bytes = Uint8Array.from({ length }, (_, i) => (i * 31 + (i >> 8)) & 255)
  return { bytes, base64: Buffer.from(bytes).toString('base64') }
}

export const blobCases: readonly ContractCase[] = [
  it('keeps a text of 16,384 bytes in the body and moves a longer one to a blob (S0-10, C15)', async ({
    store,
  }) => {
    for (const text of ['x'.repeat(limit), 'é'.repeat(limit / 2), '€'.repeat(5_461)]) {
      const read = await roundTrip(store, say(text))
      assert.deepEqual([contentOf(read), read.blobs], [text, []])
    }
    for (const text of ['x'.repeat(limit + 1), 'é'.repeat(limit / 2 + 1), '€'.repeat(5_462)]) {
      const read = await roundTrip(store, say(text))
      assert.ok(contentOf(read) === text)
      const bytes = Buffer.byteLength(text)
      assert.deepEqual(read.blobs, [{ hash: sha256Hex(text), bytes, pointer: '/blocks', whole: true }])
    }
  }),
  it('keeps base64 of 16,384 bytes in the body and moves longer data to a blob as bytes (S3-19, S3-85)', async ({
    store,
  }) => {
    const image = (data: string): Block => ({ type: 'image', mime: 'image/png', data, name: 'x.png' })
    const small = noise(limit)
    const inline = await roundTrip(store, { role: 'user', content: [image(small.base64)] })
    assert.deepEqual([inline.content, inline.blobs], [[image(small.base64)], []])
    const { bytes, base64 } = noise(limit + 1)
    const read = await roundTrip(store, { role: 'user', content: [image(base64)] })
    assert.equal(JSON.stringify(read.content), JSON.stringify([image(base64)]))
    const hash = sha256Hex(bytes)
    assert.deepEqual(read.blobs, [{ hash, bytes: limit + 1, pointer: '/blocks/0/data', whole: true }])
    assert.ok(Buffer.from(await store.readBlob(hash)).equals(bytes))
  }),
  it('returns base64 unchanged, even if it is not in canonical form (R13)', async ({ store }) => {
    const { base64 } = noise(20_001)
    const odd = [
      base64.replaceAll('=', ''),
      base64.replace(/.{76}/g, '$&\r\n'),
      base64.replaceAll('+', '-').replaceAll('/', '_'),
      `${base64}\n`,
      'not base64 at all! '.repeat(2_000),
    ]
    for (const data of odd) {
      const blocks: Block[] = [{ type: 'file', mime: 'application/octet-stream', data }]
      const read = await roundTrip(store, { role: 'user', content: blocks })
      assert.ok((read.content[0] as { data: string }).data === data, `changed: ${data.slice(0, 20)}`)
    }
  }),
  it('finds large strings at any depth and returns their JSON pointers (S1-47)', async ({ store }) => {
    const big = (letter: string) => letter.repeat(limit + 10)
    const blocks: NewBlock[] = [
      { type: 'text', text: 'small' },
      { type: 'thinking', text: big('t') },
      call({ list: ['small', { 'a/b~c': big('i') }], last: 1 }),
      { type: 'tool_result', callId: 'c1', output: big('o'), metadata: { raw: big('m') } },
      { type: 'unheard_of', deep: [[big('u')]] },
    ]
    const meta = { before: 1, source: { line: big('l') }, after: 2 }
    const read = await roundTrip(store, { role: 'assistant', content: blocks, metadata: meta })
    assert.equal(JSON.stringify(read.content), JSON.stringify(blocks))
    assert.equal(JSON.stringify(read.metadata), JSON.stringify(meta))
    const places = new Map(read.blobs.map(blob => [blob.pointer, blob.hash]))
    assert.deepEqual(
      [...places].sort(([a], [b]) => (a < b ? -1 : 1)),
      [
        ['/blocks/1/text', sha256Hex(big('t'))],
        ['/blocks/2/input/list/1/a~1b~0c', sha256Hex(big('i'))],
        ['/blocks/3/metadata/raw', sha256Hex(big('m'))],
        ['/blocks/3/output', sha256Hex(big('o'))],
        ['/blocks/4/deep/0/0', sha256Hex(big('u'))],
        ['/meta/source/line', sha256Hex(big('l'))],
      ],
    )
    assert.ok(read.blobs.every(blob => blob.whole && blob.bytes === limit + 10))
  }),
  it('returns the beginning of a text, no file data, and the sizes in a preview', async ({ store }) => {
    const { base64, bytes } = noise(30_000)
    const text = 'abcdefgh'.repeat(5_000)
    const blocks: Block[] = [
      { type: 'text', text },
      { type: 'image', mime: 'image/png', data: base64 },
      { type: 'text', text: 'small' },
    ]
    const id = await store1(store, { role: 'user', content: blocks })
    const [whole] = await store.getMessages([id])
    const [read] = await store.getMessages([id], preview)
    assert.deepEqual(read?.content[0], { type: 'text', text: text.slice(0, 1_024) })
    assert.deepEqual(read?.content.slice(1), [
      { type: 'image', mime: 'image/png', data: '' },
      { type: 'text', text: 'small' },
    ])
    assert.deepEqual(read?.blobs, [
      { hash: sha256Hex(text), bytes: 40_000, pointer: '/blocks/0/text', whole: false },
      { hash: sha256Hex(bytes), bytes: 30_000, pointer: '/blocks/1/data', whole: false },
    ])
    assert.deepEqual(await pathOf(store, id, preview), [read])
    assert.deepEqual((await store.tail(id, { messages: 1 }, preview)).messages, [read])
    const { conversationId } = whole!
    assert.deepEqual((await store.listMessages({ conversationId, blobs: 'preview' })).items, [read])
    assert.deepEqual((await store.listMessages({ conversationId })).items, [whole])
    assert.equal(Buffer.from(await store.readBlob(sha256Hex(text))).toString(), text)
  }),
  it('cuts a preview between characters', async ({ store }) => {
    for (const letter of ['é', '€', '😀']) {
      for (const before of ['', 'a', 'ab', 'abc']) {
        const text = before + letter.repeat(10_000)
        const { content: blocks } = await roundTrip(store, say(text), preview)
        const shown = (blocks[0] as { text: string }).text
        assert.ok(text.startsWith(shown), `${before}${letter}: ${shown.slice(-3)}`)
        const bytes = Buffer.byteLength(shown)
        assert.ok(bytes <= 1_024 && bytes > 1_024 - 2 * Buffer.byteLength(letter), `${bytes} bytes`)
      }
    }
  }),
  it('keeps every byte of a large text, including byte order marks, NUL and lone surrogates (R13)', async ({
    store,
  }) => {
    const filler = 'lorem ipsum 🧵\0\r\n'.repeat(2_000)
    for (const text of [`\ufeff${filler}`, `${filler}\ufeff`, `\ud800${filler}`, `${filler}\udc00`]) {
      assert.ok(contentOf(await roundTrip(store, say(text))) === text)
      const read = await roundTrip(store, { role: 'user', content: [call({ text })], metadata: { text } })
      assert.ok((read.content[0] as unknown as { input: JsonObject }).input.text === text)
      assert.ok(read.metadata?.text === text)
    }
  }),
  it("tells a caller's own $blob keys from its own references (R13)", async ({ store }) => {
    const big = 'x'.repeat(limit + 1)
    const hash = sha256Hex(big)
    const input = { z: 1, $blob: hash, bytes: 5, $$blob: hash, $$$blob: { $blob: hash, bytes: limit + 1 } }
    const metas: JsonObject[] = [
      { $blob: hash },
      { $$blob: hash, bytes: 1 },
      { a: { $blob: null, b: [{ $blob: 1 }] } },
      { text: `{"$blob":"${hash}","bytes":${limit + 1}}`, other: '"$blob":"x"' },
      { blob: hash, $: '$', $Blob: 1, $blob2: 2, x$blob: 3 },
      { $blob: big, $$blob: big, after: 1 },
    ]
    for (const meta of metas) {
      const blocks: NewBlock[] = [
        call(input),
        { type: 'other', $blob: hash, bytes: 3 },
        call({ big, $blob: 1 }),
      ]
      const read = await roundTrip(store, { role: 'assistant', content: blocks, metadata: meta })
      assert.equal(JSON.stringify(read.content), JSON.stringify(blocks))
      assert.equal(JSON.stringify(read.metadata), JSON.stringify(meta))
    }
  }),
  it("uses the caller's own keys in pointers, even if they are called $blob", async ({ store }) => {
    const meta = { $blob: 'x'.repeat(limit + 1), $$blob: { text: 'y'.repeat(limit + 1) } }
    const { blobs } = await roundTrip(store, { ...say('x'), metadata: meta })
    assert.deepEqual(
      blobs.map(blob => blob.pointer),
      ['/meta/$blob', '/meta/$$blob/text'],
    )
  }),
  it('keeps keys with a meaning in JavaScript next to large strings (R13)', async ({ store }) => {
    const big = 'x'.repeat(limit + 1)
    const hostile = JSON.parse(`{"__proto__":{"big":"${big}"},"constructor":"${big}","a":1}`) as JsonObject
    const block = JSON.parse(`{"type":"image","mime":"m","__proto__":{"x":1},"url":"${big}"}`) as Block
    const read = await roundTrip(store, { role: 'user', content: [call(hostile), block], metadata: hostile })
    assert.equal(JSON.stringify(read.content), JSON.stringify([call(hostile), block]))
    assert.equal(JSON.stringify(read.metadata), JSON.stringify(hostile))
    assert.equal(({} as { big?: string }).big, undefined)
  }),
  it('stores equal data once and keeps it as long as a message refers to it (S1-20)', async ({
    store,
    clock,
  }) => {
    const text = 'said twice '.repeat(3_000)
    const output: Block = { type: 'tool_result', callId: 'c1', output: text }
    const a = await store.create()
    const b = await store.create()
    const made = await store.append(a.branch, null, [say(text), { role: 'tool', content: [output, output] }])
    const { head } = await store.append(b.branch, null, [say(text)])
    const all = await store.getMessages([...made.ids, head])
    const hashes = all.flatMap(message => message.blobs.map(blob => blob.hash))
    assert.deepEqual(new Set(hashes), new Set([sha256Hex(text)]))
    assert.equal(hashes.length, 4)
    assert.notEqual(made.ids[0], head)
    await store.deleteMessages([made.ids[0]], { recursive: true })
    await store.trash(a.conversation.id)
    assert.ok((await store.purge(a.conversation.id)).purged)
    // Longer than any grace period. The first sweep of a store cannot see a clock jump.
    clock.now += 30 * 86_400_000
    await store.sweep()
    const [left] = await store.getMessages([head])
    assert.ok(contentOf(left!) === text)
    assert.equal(Buffer.from(await store.readBlob(sha256Hex(text))).toString(), text)
  }),
  it('reads a blob by its hash and does not find one that was never stored', async ({ store }) => {
    const missing = sha256Hex('never stored')
    const error = await rejects<NotFoundError>(store.readBlob(missing), 'not_found')
    assert.deepEqual([error.kind, error.id], ['blob', missing])
    for (const hash of ['', 'abc', "' or 1=1 --", `${missing.slice(1)}\0`]) {
      await rejects<InvalidError>(store.readBlob(hash), 'invalid')
    }
  }),
  it('replays a large message and refuses another one under the same step (P4)', async ({ store }) => {
    const { conversation, branch } = await store.create()
    const options = { turn: { key: 't1', step: 0 } }
    const text = 'x'.repeat(50_000)
    const first = await store.append(branch, null, [say(text)], options)
    const version = await store.versionOf(conversation.id)
    assert.equal((await store.append(branch, null, [say(text)], options)).outcome, 'replayed')
    await rejects(store.append(branch, first.head, [say(`${text}y`)], options), 'key_reused')
    assert.equal(await store.versionOf(conversation.id), version)
    await rejects(store.readBlob(sha256Hex(`${text}y`)), 'not_found')
  }),
  it('stores and counts a message of four megabytes (R11)', async ({ store }) => {
    const text = 'All work and no play. '.repeat(190_000)
    const read = await roundTrip(store, say(text))
    assert.ok(contentOf(read) === text)
    assert.equal(read.tokens, Math.ceil(text.length / 4))
  }),
]
