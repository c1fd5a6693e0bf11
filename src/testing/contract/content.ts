import { strict as assert } from 'node:assert'
import type { Block, NewBlock } from '../../core/block.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { contentOf, type Message, type NewMessage } from '../../core/message.ts'
import { pathOf } from '../../core/path.ts'
import type { Store } from '../../core/ports.ts'
import { casesOf, noMessage, rejects, say } from './build.ts'
import type { ContractCase } from './contract-case.ts'

const it = casesOf('content')

/** Stores a message and reads it in every possible way. All results must agree. */
async function roundTrip(store: Store, message: NewMessage): Promise<Message> {
  const { branch } = await store.create()
  const { head } = await store.append(branch, null, [message])
  const [read] = await store.getMessages([head])
  assert.deepEqual(await pathOf(store, head), [read])
  assert.deepEqual((await store.tail(head, { messages: 1 })).messages, [read])
  assert.deepEqual((await store.listMessages({ conversationId: branch.conversationId })).items, [read])
  return read!
}

/** Asserts that blocks come back unchanged, including the order of keys. */
async function keeps(store: Store, blocks: readonly NewBlock[], meta?: JsonObject): Promise<Message> {
  const read = await roundTrip(store, {
    role: 'assistant',
    content: blocks,
    ...(meta === undefined ? {} : { metadata: meta }),
  })
  assert.deepEqual(read.content, blocks)
  assert.equal(JSON.stringify(read.content), JSON.stringify(blocks))
  assert.equal(JSON.stringify(read.metadata), JSON.stringify(meta ?? null))
  return read
}

/** A tool call with this input, which may be any JSON. */
const call = (input: Json): Block => ({ type: 'tool_call', callId: 'c1', name: 'run', input })

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+M8AAAMBAQAY3Y2wAAAAAElFTkSuQmCC'

export const contentCases: readonly ContractCase[] = [
  it('keeps every kind of block with all its fields, in order (S0-25, S1-47, S3-14, S3-16, S3-17, S3-18, S3-21, S3-23, S3-30, S3-85)', async ({
    store,
  }) => {
    const metadata = { signature: 'abc', nested: { list: [1, 'two', null, true] } }
    await keeps(store, [
      { type: 'text', text: 'hello', mime: 'text/markdown', modality: 'text', metadata },
      { type: 'thinking', text: 'hm', mime: 'text/plain', modality: 'text', metadata },
      {
        type: 'tool_call',
        callId: 'c1',
        name: 'read_file',
        input: { path: 'a.ts', lines: [1, 2] },
        metadata,
      },
      {
        type: 'tool_result',
        callId: 'c1',
        name: 'read_file',
        output: { text: 'x' },
        isError: false,
        metadata,
      },
      { type: 'tool_result', callId: 'c2', output: 'failed', isError: true },
      { type: 'image', mime: 'image/png', data: png, modality: 'image', name: 'dot.png', metadata },
      { type: 'audio', mime: 'audio/wav', data: 'UklGRg==', modality: 'audio', metadata },
      { type: 'video', mime: 'video/mp4', url: 'https://example.org/v.mp4', modality: 'video', metadata },
      {
        type: 'file',
        mime: 'application/pdf',
        data: 'JVBERi0=',
        url: 'https://example.org/a.pdf',
        name: 'a.pdf',
        metadata,
      },
    ])
  }),
  it('keeps the metadata of blocks and the error flag and role of a tool result (S3-11, S3-20, S3-24, S3-29, S3-81)', async ({
    store,
  }) => {
    const blocks: Block[] = [
      { type: 'tool_result', callId: 'c1', output: 'no such file', isError: true, metadata: { ms: 12 } },
    ]
    const meta = { run: 7 }
    const read = await roundTrip(store, { role: 'tool', content: blocks, metadata: meta })
    assert.deepEqual([read.role, read.content, read.metadata], ['tool_result', blocks, meta])
    const branch = { conversationId: read.conversationId, name: 'main' }
    const { head } = await store.append(branch, read.id, [say('after it')])
    assert.equal((await store.getMessages([head]))[0]?.parentId, read.id)
    await rejects(store.getMessages([read.id, noMessage]), 'not_found')
  }),
  it('returns a plain string as a plain string and one text block as a block (S0-24)', async ({ store }) => {
    const plain = await roundTrip(store, say('hello'))
    assert.deepEqual([plain.plain, contentOf(plain)], [true, 'hello'])
    assert.deepEqual(plain.content, [{ type: 'text', text: 'hello' }])
    const blocks: Block[] = [{ type: 'text', text: 'hello' }]
    const block = await roundTrip(store, { role: 'user', content: blocks })
    assert.deepEqual([block.plain, contentOf(block)], [false, blocks])
    assert.notEqual(plain.id, block.id)
  }),
  it('does not parse a plain string that looks like JSON (S0-24, S1-19)', async ({ store }) => {
    for (const text of [
      '[{"type":"text","text":"x"}]',
      '{"blocks":"x"}',
      'null',
      '"quoted"',
      '{"$blob":"0"}',
    ]) {
      const read = await roundTrip(store, say(text))
      assert.deepEqual([read.plain, contentOf(read)], [true, text])
    }
  }),
  it('keeps an empty string, an empty text and an empty list of blocks', async ({ store }) => {
    const empty = await roundTrip(store, say(''))
    assert.deepEqual([empty.plain, contentOf(empty), empty.tokens], [true, '', 0])
    const none = await keeps(store, [])
    assert.deepEqual([none.plain, none.tokens], [false, 0])
    await keeps(store, [{ type: 'text', text: '' }])
  }),
  it('keeps blocks of unknown types, whatever their names (S1-42)', async ({ store }) => {
    await keeps(store, [
      { type: 'citation', source: { url: 'https://example.org', spans: [[0, 5]] }, cited: true, rank: 0.5 },
      { type: 'toString', text: 7 },
      { type: '__proto__', text: null },
      { type: 'Text', text: ['not', 'ours'] },
      { type: 'redacted_thinking', data: 'EmwKAhgBEgy3' },
    ])
  }),
  it('keeps unknown fields of known blocks (S1-42)', async ({ store }) => {
    const block = { type: 'text', text: 'x', cache_control: { type: 'ephemeral' }, id: 'blk_1' } as Block
    await keeps(store, [block])
  }),
  it("keeps the metadata of a message apart from the message's own fields (S3-25, C10)", async ({
    store,
  }) => {
    const meta = { id: 'mine', parentId: 'mine', createdAt: 'mine', blocks: [], role: 'mine', seq: -1 }
    const read = await keeps(store, [{ type: 'text', text: 'x' }], meta)
    assert.deepEqual(read.metadata, meta)
    assert.deepEqual([read.role, read.seq, read.parentId], ['assistant', 0, null])
    assert.notEqual(read.id, 'mine')
    assert.deepEqual((await roundTrip(store, { ...say('x'), metadata: {} })).metadata, {})
    assert.equal((await roundTrip(store, say('x'))).metadata, null)
  }),
  it('keeps the order of keys, and empty and unusual keys', async ({ store }) => {
    const input = { z: 1, a: 2, '': 3, ' ': 4, 'a.b': 5, 'a/b~c': 6, '"': 7, '\\': 8, m: { y: 1, b: 2 } }
    await keeps(store, [{ text: 'late type', metadata: { z: 1, a: 2 }, type: 'text' }, call(input)], input)
  }),
  it('keeps keys with a meaning in JavaScript and is not changed by them (R13)', async ({ store }) => {
    const hostile = JSON.parse(
      '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"toString":1,' +
        '"hasOwnProperty":null,"valueOf":[],"length":-1,"then":"x","toJSON":{"a":1}}',
    ) as JsonObject
    const block = JSON.parse('{"type":"other","__proto__":{"type":"text"},"constructor":1}') as Block
    const read = await keeps(store, [call(hostile), block], hostile)
    assert.ok(Object.hasOwn(read.metadata!, '__proto__'))
    assert.ok(Object.hasOwn(read.content[1]!, '__proto__'))
    assert.equal(read.content[1]!.type, 'other')
    assert.equal(({} as { polluted?: boolean }).polluted, undefined)
  }),
  it('keeps text in every script with all characters, including NUL and lone surrogates (R13)', async ({
    store,
  }) => {
    const texts = [
      'Ünïcödé 漢字 かな 한글 עברית العربية हिन्दी',
      '👩‍👩‍👧‍👦🏳️‍🌈e\u0301\u200d',
      '\u202egnirts lanoitceridib\u2066\u2069',
      'line\nfeed\r\ntab\t\b\f\v\u0085\u2028\u2029',
      '\u0000 \u0001 \u001b[31m \u007f \u009b',
      '\ufeff\ufffe\uffff\ufffd\ufdd0',
      '\ud800',
      'a\udc00b\udbff',
      '\udfff\ud800',
      'quote " backslash \\ \\u0000 \\n slash / \\/',
      "'); drop table skein_messages; --",
    ]
    for (const text of texts) {
      const plain = await roundTrip(store, say(text))
      assert.equal(contentOf(plain), text)
    }
    await keeps(
      store,
      texts.map(text => ({ type: 'text', text })),
      Object.fromEntries(texts.map(text => [text, text])),
    )
    await keeps(store, [call(Object.fromEntries(texts.map((text, i) => [text, [i, text]])))])
  }),
  it('keeps every number that JSON can represent', async ({ store }) => {
    const input = [
      0,
      1,
      -1,
      0.1,
      1 / 3,
      1e21,
      1e-7,
      5e-324,
      1.7976931348623157e308,
      2 ** 53,
      -(2 ** 53),
      2 ** 63,
    ]
    await keeps(store, [call(input)], { input })
    await keeps(store, [call(true), call(null), call('text'), call([]), call({}), call(0)])
  }),
  it('keeps up to 250 levels of nesting', async ({ store }) => {
    let list: Json = 'bottom'
    let object: Json = 'bottom'
    for (let i = 0; i < 250; i++) {
      list = [list]
      object = { deeper: object }
    }
    await keeps(store, [call(list), call(object)], { object })
  }),
  it('treats an undefined member as absent', async ({ store }) => {
    const block = { type: 'text', text: 'x', mime: undefined, metadata: { a: undefined, b: 1 } }
    const read = await roundTrip(store, {
      role: 'user',
      content: [block as unknown as Block],
      metadata: { gone: undefined, here: 1 } as unknown as JsonObject,
    })
    assert.deepEqual(read.content, [{ type: 'text', text: 'x', metadata: { b: 1 } }])
    assert.deepEqual(read.metadata, { here: 1 })
  }),
  it('accepts objects without a prototype and does not change its input', async ({ store }) => {
    const input = Object.freeze(Object.assign(Object.create(null), { a: 1, big: 'x'.repeat(20_000) }))
    const block = Object.freeze({ type: 'tool_call', callId: 'c1', name: 'run', input }) as Block
    const given = Object.freeze([block])
    const read = await roundTrip(store, Object.freeze({ role: 'assistant', content: given }))
    assert.equal(JSON.stringify(read.content), JSON.stringify(given))
    assert.deepEqual(Object.keys(input), ['a', 'big'])
    assert.equal(input.big.length, 20_000)
  }),
]
