import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { asBlock, type Block } from '../../src/core/block.ts'
import {
  type Body,
  blobHashesIn,
  blobLimit,
  type DecodedBody,
  decodeBody,
  encodeBody,
  previewBytes,
} from '../../src/core/body.ts'
import { CorruptError } from '../../src/core/errors.ts'
import { sha256Hex } from '../../src/core/hash.ts'
import type { Json, JsonObject } from '../../src/core/json.ts'

const text = (words: string): Block => ({ type: 'text', text: words })
const other = (fields: JsonObject): Block => asBlock({ type: 'other', ...fields })
const image = (data: string): Block => ({ type: 'image', mime: 'image/png', data })
const payload = (bytes: number): string => Buffer.alloc(bytes, 'skein').toString('base64')
const reference = (data: string | Uint8Array): JsonObject => ({
  $blob: sha256Hex(data),
  bytes: Buffer.byteLength(data),
})
const parsed = (body: Body) => JSON.parse(body.text)

/** The decoded body if at most `limit` bytes of each blob are read. */
function decoded(body: Body, limit = Number.POSITIVE_INFINITY): DecodedBody {
  return decodeBody(body.text, hash => {
    const { data } = body.blobs.find(blob => blob.hash === hash)!
    return { data: data.subarray(0, limit), bytes: data.length }
  })
}

describe('encodeBody with small content', () => {
  it('writes blocks and meta as JSON, in this order', () => {
    expect(encodeBody([text('hi')], { a: 1 }).text).toBe(
      '{"blocks":[{"type":"text","text":"hi"}],"meta":{"a":1}}',
    )
  })

  it('writes no meta if none was given, and an empty one if it was empty', () => {
    expect(encodeBody('hi', undefined).text).toBe('{"blocks":"hi"}')
    expect(encodeBody('hi', {}).text).toBe('{"blocks":"hi","meta":{}}')
    expect(decoded(encodeBody('hi', undefined)).meta).toBeNull()
    expect(decoded(encodeBody('hi', {})).meta).toEqual({})
  })

  it('hashes the stored text', () => {
    const body = encodeBody('grüße 👋', undefined)
    expect(body.hash).toBe(sha256Hex(Buffer.from('{"blocks":"grüße 👋"}')))
  })

  it('returns a plain string as a string and a list as a list', () => {
    expect(decoded(encodeBody('hi', undefined))).toMatchObject({ plain: true, blocks: [text('hi')] })
    expect(decoded(encodeBody([text('hi')], undefined))).toMatchObject({ plain: false, blocks: [text('hi')] })
    expect(decoded(encodeBody('', undefined))).toMatchObject({ plain: true, blocks: [text('')] })
    expect(decoded(encodeBody([], undefined))).toMatchObject({ plain: false, blocks: [] })
  })

  it('drops undefined members, as JSON does', () => {
    const block = { type: 'text', text: 'hi', mime: undefined } as unknown as Block
    expect(encodeBody([block], undefined).text).toBe('{"blocks":[{"type":"text","text":"hi"}]}')
  })

  it('keeps lone surrogates, NUL and a byte order mark', () => {
    const words = '\ud800 a\0b \udc00 \ufeff'
    expect(decoded(encodeBody(words, undefined)).blocks).toEqual([text(words)])
    expect(encodeBody(words, undefined).text).toContain('\\ud800 a\\u0000b \\udc00')
  })

  it('keeps a member named __proto__ as a member', () => {
    const meta = JSON.parse('{"__proto__":{"a":1},"constructor":2}')
    const back = decoded(encodeBody('hi', meta)).meta!
    expect(Object.keys(back)).toEqual(['__proto__', 'constructor'])
    expect(Object.getPrototypeOf(back)).toBe(Object.prototype)
  })
})

describe('encodeBody with large strings', () => {
  const large = 'x'.repeat(blobLimit + 1)

  it('keeps a string of 16,384 bytes and moves a longer one out', () => {
    expect(encodeBody('x'.repeat(blobLimit), undefined).blobs).toEqual([])
    const body = encodeBody(large, undefined)
    expect(parsed(body)).toEqual({ blocks: reference(large) })
    expect(body.blobs).toEqual([{ hash: sha256Hex(large), data: Buffer.from(large) }])
    expect(decoded(body)).toMatchObject({ plain: true, blocks: [text(large)] })
  })

  it('measures bytes of UTF-8, not characters', () => {
    expect(encodeBody('ä'.repeat(blobLimit / 2), undefined).blobs).toHaveLength(0)
    expect(encodeBody(`${'ä'.repeat(blobLimit / 2)}x`, undefined).blobs).toHaveLength(1)
    expect(encodeBody('語'.repeat(5_461), undefined).blobs).toHaveLength(0)
    expect(encodeBody('語'.repeat(5_462), undefined).blobs).toHaveLength(1)
  })

  it('moves strings out from any depth, in blocks and in meta, and keeps the order of the rest', () => {
    const block = other({ first: 1, deep: [{ a: [large, 'small'] }], last: 2 })
    const body = encodeBody([block], { raw: large })
    expect(body.text).toBe(
      JSON.stringify({
        blocks: [{ type: 'other', first: 1, deep: [{ a: [reference(large), 'small'] }], last: 2 }],
        meta: { raw: reference(large) },
      }),
    )
    expect(decoded(body)).toMatchObject({ blocks: [block], meta: { raw: large } })
  })

  it('stores a repeated string once', () => {
    expect(encodeBody([text(large), text(large)], { large }).blobs).toHaveLength(1)
  })

  it('keeps a string with a lone surrogate in the body, because it has no UTF-8 encoding', () => {
    const torn = `${large}\ud83d`
    const body = encodeBody([text(torn)], undefined)
    expect(body.blobs).toHaveLength(0)
    expect(decoded(body).blocks).toEqual([text(torn)])
  })

  it('keeps long member names in the body and moves only values out', () => {
    const body = encodeBody('hi', { [large]: 1 })
    expect(body.blobs).toHaveLength(0)
    expect(decoded(body).meta).toEqual({ [large]: 1 })
  })

  it('keeps a byte order mark at the beginning', () => {
    const marked = `\ufeff${large}`
    expect(decoded(encodeBody(marked, undefined)).blocks).toEqual([text(marked)])
  })

  it("does not change the caller's objects", () => {
    const block = other({ deep: { large } })
    encodeBody([block], undefined)
    expect(block).toEqual(other({ deep: { large } }))
  })
})

describe('encodeBody with the data of an image, a sound, a video or a file', () => {
  it.each(['image', 'audio', 'video', 'file'])('stores the data as bytes for %s', type => {
    const block = { type, mime: 'a/b', data: payload(blobLimit + 1), name: 'n' } as Block
    const body = encodeBody([block], undefined)
    const bytes = Buffer.alloc(blobLimit + 1, 'skein')
    expect(body.text).toBe(
      JSON.stringify({ blocks: [{ type, mime: 'a/b', data: reference(bytes), name: 'n' }] }),
    )
    expect(body.blobs).toEqual([{ hash: sha256Hex(bytes), data: bytes }])
    expect(decoded(body).blocks).toEqual([block])
  })

  it('keeps up to 16,384 decoded bytes in the body, though their text is longer', () => {
    const body = encodeBody([image(payload(blobLimit))], undefined)
    expect(body.blobs).toHaveLength(0)
    expect(body.text.length).toBeGreaterThan(blobLimit)
  })

  const canonical = payload(blobLimit + 1) // ends in one padding character
  it.each([
    ['without padding', canonical.replace(/=+$/, '')],
    ['with line breaks', canonical.replace(/(.{76})/g, '$1\n')],
    ['with a data URL before it', `data:image/png;base64,${canonical}`],
    ['in the URL alphabet', Buffer.alloc(blobLimit + 2, 0xff).toString('base64url')],
    ['with bits set that no byte holds', canonical.replace(/.=$/, 'd=')],
    ['with invalid characters', '*'.repeat(30_000)],
  ])('keeps base64 %s in the body, because it would come back changed', (_, data) => {
    const body = encodeBody([image(data)], undefined)
    expect(body.blobs).toHaveLength(0)
    expect(decoded(body).blocks).toEqual([image(data)])
  })

  it('decodes base64 only in the payload, and moves other text out as text', () => {
    const data = payload(blobLimit + 1)
    const nested = other({ content: [{ type: 'image', mime: 'image/png', data }] })
    const body = encodeBody([nested, text(data)], { data, type: 'image' })
    expect(body.blobs).toEqual([{ hash: sha256Hex(data), data: Buffer.from(data) }])
    expect(decoded(body)).toMatchObject({ blocks: [nested, text(data)], meta: { data, type: 'image' } })
  })

  it('shares the blob with a text of the same bytes', () => {
    const words = 'skein'.repeat(4_000)
    const body = encodeBody([image(Buffer.from(words).toString('base64')), text(words)], undefined)
    expect(body.blobs).toHaveLength(1)
    expect(decoded(body).blocks).toEqual([image(Buffer.from(words).toString('base64')), text(words)])
  })

  it('accepts large strings next to the data', () => {
    const block = { ...image(payload(20_000)), metadata: { caption: 'c'.repeat(20_000) } } as Block
    const body = encodeBody([block], undefined)
    expect(body.blobs).toHaveLength(2)
    expect(decoded(body).blocks).toEqual([block])
  })
})

describe("a caller's own $blob key", () => {
  it.each(['$blob', '$$blob', '$$$blob'])('is stored with one more dollar and restored: %s', key => {
    const meta = { before: 1, [key]: sha256Hex(''), bytes: 0 }
    const body = encodeBody([other({ [key]: 'a' })], meta)
    expect(body.text).toBe(
      JSON.stringify({
        blocks: [{ type: 'other', [`$${key}`]: 'a' }],
        meta: { before: 1, [`$${key}`]: sha256Hex(''), bytes: 0 },
      }),
    )
    expect(decoded(body)).toMatchObject({ blocks: [other({ [key]: 'a' })], meta })
    expect(blobHashesIn(body.text)).toEqual([])
  })

  it.each(['$blobs', '$Blob', 'blob', '$', 'a$blob', '$blob '])('leaves other names unchanged: %s', key => {
    expect(encodeBody('hi', { [key]: 1 }).text).toBe(JSON.stringify({ blocks: 'hi', meta: { [key]: 1 } }))
  })
})

describe('blobHashesIn', () => {
  it('finds the hashes that a body refers to', () => {
    const one = 'a'.repeat(20_000)
    const two = payload(20_000)
    const body = encodeBody([text(one), image(two)], { one })
    expect(blobHashesIn(body.text).toSorted()).toEqual(
      [sha256Hex(one), sha256Hex(one), sha256Hex(Buffer.from(two, 'base64'))].toSorted(),
    )
  })

  it.each([
    ['a text', text(`{"$blob":"${sha256Hex('')}","bytes":1}`)],
    ['a name that ends like a reference', other({ 'x"$blob': sha256Hex('') })],
    ['a name with a brace', other({ '{"$blob': sha256Hex('') })],
    ['a list', other({ list: ['{', '$blob', sha256Hex('')] })],
  ])('is not deceived by %s', (_, block) => {
    const large = 'x'.repeat(20_000)
    const body = encodeBody([block], { large })
    expect(blobHashesIn(body.text)).toEqual([sha256Hex(large)])
    expect(decoded(body)).toMatchObject({ blocks: [block], meta: { large } })
  })
})

describe('decodeBody of a preview', () => {
  it('returns the beginning of a text and says that it is not whole', () => {
    const words = 'x'.repeat(20_000)
    const { blocks, blobs } = decoded(encodeBody([text(words)], undefined), previewBytes)
    expect(blocks).toEqual([text('x'.repeat(previewBytes))])
    expect(blobs).toEqual([
      { hash: sha256Hex(words), bytes: 20_000, pointer: '/blocks/0/text', whole: false },
    ])
  })

  it.each([
    ['é', 2],
    ['語', 3],
    ['👋', 4],
  ])('leaves out a cut %s and keeps a whole one', (character, bytes) => {
    const body = encodeBody([text(character.repeat(20_000))], undefined)
    for (let limit = 40; limit < 40 + bytes; limit++) {
      const [block] = decoded(body, limit).blocks
      expect(block).toEqual(text(character.repeat(Math.floor(limit / bytes))))
    }
  })

  it('returns nothing of a payload', () => {
    const { blocks, blobs } = decoded(encodeBody([image(payload(20_000))], undefined), previewBytes)
    expect(blocks).toEqual([image('')])
    expect(blobs).toMatchObject([{ bytes: 20_000, pointer: '/blocks/0/data', whole: false }])
  })

  it('returns pointers into the given message, with escapes', () => {
    const words = 'x'.repeat(20_000)
    const { blobs } = decoded(encodeBody('hi', { 'a/b~c': [{ $blob: words }] }), previewBytes)
    expect(blobs.map(blob => blob.pointer)).toEqual(['/meta/a~1b~0c/0/$blob'])
    expect(decoded(encodeBody(words, undefined)).blobs.map(blob => blob.pointer)).toEqual(['/blocks'])
  })
})

describe('decodeBody', () => {
  it.each(['', '{"blocks":', 'null', '[]', '{"meta":{}}'])('reports %j as corrupt', body => {
    expect(() => decodeBody(body, () => ({ data: new Uint8Array(), bytes: 0 }))).toThrow(CorruptError)
  })

  it('throws the error of loading a blob', () => {
    const body = encodeBody('x'.repeat(20_000), undefined)
    const load = () => {
      throw new CorruptError('gone')
    }
    expect(() => decodeBody(body.text, load)).toThrow('gone')
  })
})

describe('encodeBody and decodeBody', () => {
  const key = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('$blob', '$$blob', 'data', 'type', '__proto__'),
  )
  const string = fc.oneof(
    { weight: 8, arbitrary: fc.string({ unit: 'binary' }) },
    {
      weight: 1,
      arbitrary: fc.constantFrom('\ud800', payload(20_000), 'ä'.repeat(9_000), `${'x'.repeat(17_000)}\udfff`),
    },
  )
  const json = fc.letrec<{ value: Json; object: JsonObject }>(tie => ({
    value: fc.oneof(
      { depthSize: 'small' },
      string,
      fc.double({ noDefaultInfinity: true, noNaN: true }).map(n => n + 0), // JSON has no -0
      fc.boolean(),
      fc.constant(null),
      fc.array(tie('value')),
      tie('object'),
    ),
    object: fc.dictionary(key, tie('value')) as fc.Arbitrary<JsonObject>,
  }))
  const type = fc.constantFrom('text', 'image', 'file', 'tool_result', 'other')
  // As after the checks: the data of a media block is text.
  const block = fc.tuple(type, json.object, string).map(([name, fields, data]) => {
    const entries = Object.entries(fields).filter(([field]) => field !== 'type' && field !== 'data')
    return Object.fromEntries([['type', name], ...entries, ['data', data]]) as Block
  })

  it('return any body unchanged', () => {
    fc.assert(
      fc.property(
        fc.oneof(string, fc.array(block)),
        fc.option(json.object, { nil: undefined }),
        (blocks, meta) => {
          const body = encodeBody(blocks, meta)
          const back = decoded(body)
          // Compared as JSON, because object equality ignores the order of members.
          expect(JSON.stringify(back.plain ? (back.blocks[0] as { text: string }).text : back.blocks)).toBe(
            JSON.stringify(blocks),
          )
          expect(JSON.stringify(back.meta)).toBe(JSON.stringify(meta ?? null))
          expect(new Set(blobHashesIn(body.text))).toEqual(new Set(body.blobs.map(blob => blob.hash)))
          expect(back.blobs.every(blob => blob.whole)).toBe(true)
        },
      ),
      { numRuns: 500 },
    )
  })
})
