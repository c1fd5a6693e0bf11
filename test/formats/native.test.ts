import { beforeAll, describe, expect, it } from 'vitest'
import type { Store } from '../../src/core/ports.ts'
import type { StoreRecord } from '../../src/core/record.ts'
import { nativeEncoder } from '../../src/formats/native/encode.ts'
import { blobPartBytes } from '../../src/formats/native/format.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'
import { type Everything, fillWithEverything, steadySource } from '../stores/everything.ts'
import { fileOf, recordsOf, takeFile } from './native-file.ts'

let truth: readonly StoreRecord[]
let sample: Everything
let file: string

beforeAll(async () => {
  await using store = await openSqliteStore(':memory:', { source: steadySource() })
  sample = await fillWithEverything(store)
  truth = await recordsOf(store, sample.ids)
  file = fileOf(truth)
})

const openEmpty = () => openSqliteStore(':memory:', { source: steadySource(Date.UTC(2026, 5, 1)) })

/** Imports a file twice: the second import may change nothing. */
async function take(text: string | Uint8Array, into?: Store) {
  const own = into ? null : await openEmpty()
  const store = into ?? own!
  try {
    const taken = await takeFile(store, text)
    const { tally } = await takeFile(store, text)
    expect({ ...tally.added, ...tally.advanced }).toEqual({})
    return { ...taken, records: await recordsOf(store, await known(store)) }
  } finally {
    await own?.close()
  }
}

async function known(store: Store) {
  const ids = []
  for (const id of sample.ids) if (await store.versionOf(id).catch(() => null)) ids.push(id)
  return ids
}

const lineOf = (text: string, part: string) => text.split('\n').findIndex(line => line.includes(part)) + 1

describe('a file of the native format', () => {
  it('returns all records unchanged', async () => {
    expect(await take(file)).toMatchObject({ bad: [], notes: [], records: truth })
  })

  it('is one JSON object per line, of printable UTF-8', () => {
    const lines = file.trimEnd().split('\n')
    expect(lines.length).toBe(truth.length + 2)
    for (const line of lines) expect(JSON.parse(line)).toHaveProperty('kind')
    expect(file).not.toMatch(/[^\P{Cc}\n\u007f]/u)
    expect(Buffer.from(file).toString()).toBe(file)
  })

  it('writes blobs in short pieces, with the same text as in lines', () => {
    const encoder = nativeEncoder()
    const hash = '0'.repeat(64)
    const inLines = (data: Uint8Array) =>
      [...encoder.record({ kind: 'blob', hash, data })].map(line => `${line}\n`).join('')
    const quoted = 'a "quoted" \\ 語👋\u0000\u001f\u2028\ufeff\n'
    for (let length = 49_140; length < 49_170; length++) {
      for (const data of [Buffer.from('é'.repeat(length)), Buffer.alloc(length, 0xfe)]) {
        const pieces = [...encoder.text({ kind: 'blob', hash, data })]
        expect(pieces.join('') === inLines(data)).toBe(true)
        const form = data[0] === 0xfe ? { base64: data.toString('base64') } : { text: data.toString() }
        expect(
          pieces.join('') === `${JSON.stringify({ kind: 'blob', hash, bytes: data.length, ...form })}\n`,
        ).toBe(true)
      }
    }
    const large = Buffer.from(quoted.repeat(300_000))
    const pieces = [...encoder.text({ kind: 'blob', hash, data: large })]
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(6 * 49_152)
    expect(pieces.join('') === inLines(large)).toBe(true)
    const texts = inLines(large)
      .trimEnd()
      .split('\n')
      .map(line => (JSON.parse(line) as { text: string }).text)
    expect(texts.join('') === quoted.repeat(300_000)).toBe(true)
  })

  it('writes large blobs in parts, as text if they are UTF-8', async () => {
    const text = Buffer.from('a語👋'.repeat(1_100_000))
    const bytes = Buffer.alloc(blobPartBytes + 1, 0xff)
    const encoder = nativeEncoder()
    for (const data of [text, bytes]) {
      const lines = [...encoder.record({ kind: 'blob', hash: '0'.repeat(64), data })]
      const parts = lines.map(line => JSON.parse(line) as { text?: string; base64?: string; parts: number })
      expect(parts.every(part => part.parts === lines.length && lines.length > 1)).toBe(true)
      expect(parts.every(part => 'text' in part === (data === text))).toBe(true)
      const joined = parts.map(({ text = '', base64 = '' }) =>
        Buffer.concat([Buffer.from(text), Buffer.from(base64, 'base64')]),
      )
      expect(Buffer.concat(joined).equals(data)).toBe(true)
    }
    await using store = await openEmpty()
    const { branch, conversation } = await store.create()
    await store.append(branch, null, [
      { role: 'user', content: text.toString() },
      { role: 'user', content: 'small' },
    ])
    const large = await recordsOf(store, [conversation.id])
    await using other = await openEmpty()
    expect((await takeFile(other, fileOf(large), { chunk: 65_536 })).bad).toEqual([])
    // As text: comparing millions of bytes one by one is slow.
    expect(fileOf(await recordsOf(other, [conversation.id])) === fileOf(large)).toBe(true)
    // Without its second part the blob is lost, and so are the messages that need it; each is reported once,
    // with its line.
    const torn = fileOf(large)
      .split('\n')
      .filter(line => !line.includes('"part":1,'))
      .join('\n')
    await using third = await openEmpty()
    const { bad, tally } = await takeFile(third, torn, { chunk: 65_536 })
    expect(
      bad.map(({ reason }) => reason.replace(/[0-9a-f]{64}/, '…').replace(/[a-z2-7]{32}/, 'id')),
    ).toEqual([
      'blob … is cut off: 1 of 3 parts are here; blob …: the parts before this one are missing'.replace(
        /blob …: /,
        () => `blob ${(large.find(r => r.kind === 'blob') as { hash: string }).hash}: `,
      ),
      'blob … is missing',
      'its parent id is missing',
      'its head id is missing',
    ])
    expect(tally.added).toEqual({ conversation: 1 })
  })
})

describe('a damaged or edited file (R26)', () => {
  it('is accepted with a byte order mark, CRLF, empty lines or no last line break', async () => {
    const changed = `\ufeff${file.replaceAll('\n', '\r\n\r\n  \n')}`.trimEnd()
    expect(await take(changed)).toMatchObject({ bad: [], records: truth })
  })

  it('has torn lines, and the records that depend on them, reported with their lines', async () => {
    const lines = file.split('\n')
    const at = lineOf(file, '"body":"{\\"blocks\\":\\"a1\\"}"')
    lines[at - 1] = lines[at - 1]!.slice(0, 90)
    const { bad, records } = await take(lines.join('\n'))
    expect(bad[0]).toEqual({ line: at, reason: 'the line is not complete JSON' })
    expect(bad.filter(({ line }) => line === at)).toHaveLength(1)
    expect(bad.length).toBeGreaterThan(5)
    const lost = truth.filter(record => !records.some(one => JSON.stringify(one) === JSON.stringify(record)))
    expect(new Set(lost.map(record => ('conversationId' in record ? record.conversationId : '')))).toEqual(
      new Set([sample.tree]),
    )
  })

  it('loses nothing if two lines were joined, with or without NUL between them', async () => {
    const first = lineOf(file, '"kind":"message"')
    for (const glue of ['', '\0'.repeat(4_096)]) {
      const lines = file.split('\n')
      lines.splice(first - 1, 2, `${lines[first - 1]}${glue}${lines[first]}`)
      const { bad, records } = await take(lines.join('\n'))
      expect(records).toEqual(truth)
      expect(bad).toMatchObject([{ line: first }])
      expect(bad[0]!.reason).toMatch(
        glue === '' ? /not complete JSON, 2 records/ : /4096 NUL bytes, 2 records/,
      )
    }
  })

  it('keeps a whole line after half of another, and takes no record out of a text', async () => {
    const first = lineOf(file, '"kind":"message"')
    const lines = file.split('\n')
    const half = lines[first]!.slice(0, 200)
    lines[first - 1] = `${half}${lines[first - 1]}`
    const { bad, records } = await take(lines.join('\n'))
    expect(records).toEqual(truth)
    expect(bad).toEqual([
      { line: first, reason: 'the line is not complete JSON, one record in it was whole' },
    ])
    // Metadata may look like a record; even in a torn line it must not become one.
    const inner = `{"kind":"conversation","metadata":{"kind":"conversation","id":"${sample.talk}"},"title":`
    expect((await take(`${lines[0]}\n${inner}\n`)).records).toEqual([])
  })

  it('is reported if its end, its beginning or all of it is missing', async () => {
    const lines = file.trimEnd().split('\n')
    const reasons = async (text: string) => (await take(text)).bad.map(({ reason }) => reason)
    expect(await reasons(lines.slice(0, -1).join('\n'))).toEqual([
      'the file is cut off: its last line is missing',
    ])
    expect(await reasons(lines.slice(1).join('\n'))).toEqual([
      'the first line is missing: this may be no file of Skein',
    ])
    expect(await reasons('')).toEqual(['the file is empty'])
    const [some] = await reasons([...lines.slice(0, 3), ...lines.slice(-1)].join('\n'))
    expect(some).toBe(`${truth.length} records were written, 2 are here`)
    const html = await take('<html>\n<body>\n</html>\n')
    expect(html.bad.map(({ line }) => line)).toEqual([1, 2, 3])
  })

  it('does no harm with a line of any length, or one that is not UTF-8', async () => {
    await using store = await openEmpty()
    const lines = file.split('\n')
    lines.splice(2, 0, 'x'.repeat(300_000))
    const { bad } = await takeFile(store, lines.join('\n'), { longestLine: 200_000 })
    expect(bad).toEqual([{ line: 3, reason: 'the line has 300000 bytes, 200000 are allowed' }])
    const bytes = Buffer.from(file)
    bytes[bytes.indexOf('Nothing was said')] = 0xff
    const taken = await take(bytes)
    expect(taken.bad[0]!.reason).toBe('the line is not UTF-8')
  })

  it('is accepted with duplicate lines, and with several files in one', async () => {
    const lines = file.trimEnd().split('\n')
    const twice = [...lines.slice(0, -1).flatMap(line => [line, line]), lines.at(-1)].join('\n')
    const { records, tally, bad } = await take(twice)
    expect(records).toEqual(truth)
    expect(tally.present.message).toBe(tally.added.message)
    expect(bad.map(({ reason }) => reason)).toEqual([
      // The header occurs twice too.
      'the file before this line is cut off',
      `${truth.length} records were written, ${truth.length * 2} are here`,
    ])
    expect(await take(file + file)).toMatchObject({ bad: [], records: truth })
  })
})

describe('a file of another version', () => {
  const header = (version: string) =>
    JSON.stringify({ kind: 'header', format: 'skein', version, writtenAt: 0, by: 'x' })
  const future = () => {
    const lines = file.trimEnd().split('\n')
    const extra = lines.slice(1, -1).map(line => line.replace(/}$/, ',"mood":"good"}'))
    const end = JSON.stringify({ kind: 'end', records: truth.length + 1, counts: {} })
    return [header('1.9'), ...extra, '{"kind":"dream","of":"sheep"}', end].join('\n')
  }

  it('is read without its additions if its minor version is newer, and they are reported', async () => {
    const { records, bad, notes } = await take(future())
    expect([records, bad]).toEqual([truth, []])
    expect(notes).toContain('records of kind "dream" are not known: passed over')
    expect(notes).toContain('the field "mood" of a message is not known: passed over')
    // In our own version this would be a fault.
    const same = await take(future().replace('"1.9"', '"1.1"'))
    expect(same.bad.map(({ reason }) => reason)).toEqual(['there is no kind "dream"'])
  })

  it('is refused with advice if its major version is newer', async () => {
    await using store = await openEmpty()
    await expect(takeFile(store, file.replace('"1.1"', '"2.0"'))).rejects.toThrow(
      'the file has format 2.0, this program reads 1: use a newer skein',
    )
    expect(await store.countConversations()).toBe(0)
    expect((await take(file.replace('"skein"', '"other"'))).bad[0]!.reason).toBe(
      'the first line is of another format',
    )
  })
})
