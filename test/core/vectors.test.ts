import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { Block } from '../../src/core/block.ts'
import { decodeBody, encodeBody } from '../../src/core/body.ts'
import { hashMessage, sha256Hex } from '../../src/core/hash.ts'
import { conversationId, type MessageId } from '../../src/core/ids.ts'
import type { Json, JsonObject } from '../../src/core/json.ts'
import { type NewMessage, type Role, textOf } from '../../src/core/message.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'

/** The document is the source: every number in it is recomputed here, so that it cannot differ from the
 *  code. */
const document = readFileSync(new URL('../../docs/data-model.md', import.meta.url), 'utf8')

interface Vector {
  readonly name: string
  readonly parent: MessageId
  readonly role: Role
  readonly time: number
  readonly blocks: Json
  readonly meta?: JsonObject
  readonly bytes: number
  readonly body?: string
  readonly sha256: string
  readonly id: string
  readonly blobs?: readonly { readonly hash: string; readonly bytes: number }[]
}

function fenced<T>(kind: string): T[] {
  const pattern = new RegExp(`^\`\`\`json ${kind}\n([\\s\\S]*?)\n\`\`\`$`, 'gm')
  return [...document.matchAll(pattern)].map(match => JSON.parse(match[1]!) as T)
}

/** The rows of the first table with this column, as numbers. */
function table(column: string): Record<string, number>[] {
  const lines = document.split('\n')
  const start = lines.findIndex(line => line.startsWith('|') && line.includes(`| ${column} |`))
  const cells = (line: string) =>
    line
      .split('|')
      .slice(1, -1)
      .map(cell => cell.trim())
  const names = cells(lines[start]!)
  const end = lines.findIndex((line, i) => i > start && !line.startsWith('|'))
  return lines
    .slice(start + 2, end)
    .map(line => Object.fromEntries(cells(line).map((cell, i) => [names[i], Number(cell)])))
}

/** Inserts the long strings that a vector only describes. */
function expand(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(expand)
  const { $repeat, $base64 } = value as Record<string, [string, number, string?]>
  if ($repeat) return $repeat[0].repeat($repeat[1]) + ($repeat[2] ?? '')
  if ($base64) return Buffer.from($base64[0].repeat($base64[1])).toString('base64')
  return Object.fromEntries(Object.entries(value as JsonObject).map(([key, member]) => [key, expand(member)]))
}

const conversationIdOf = () => conversationId(document.match(/the conversation `([0-9a-f-]{36})`/)![1]!)
const vectors = fenced<Vector>('vector')
const contentOf = (vector: Vector) => ({
  blocks: expand(vector.blocks) as unknown as string | readonly Block[],
  meta: vector.meta && (expand(vector.meta) as JsonObject),
})

describe('the test vectors of docs/data-model.md', () => {
  it('are all listed here', () => {
    expect(vectors.length).toBe(13)
    expect(document.match(/```json vector/g)).toHaveLength(vectors.length)
    expect(new Set(vectors.map(({ name }) => name)).size).toBe(vectors.length)
  })

  it.each(vectors.map(vector => [vector.name, vector] as const))(
    '%s: body, hash and id match',
    (_, vector) => {
      const { blocks, meta } = contentOf(vector)
      const body = encodeBody(blocks, meta)
      expect(Buffer.byteLength(body.text)).toBe(vector.bytes)
      if (vector.body !== undefined) expect(body.text).toBe(vector.body)
      expect(body.hash).toBe(vector.sha256)
      expect(hashMessage(vector.parent, vector.role, vector.time, body.hash)).toBe(vector.id)
      expect(body.blobs.map(({ hash, data }) => ({ hash, bytes: data.length }))).toEqual(vector.blobs ?? [])
    },
  )

  it.each(vectors.map(vector => [vector.name, vector] as const))(
    '%s: decodes to the given content',
    (_, vector) => {
      const { blocks, meta } = contentOf(vector)
      const { text, blobs } = encodeBody(blocks, meta)
      const back = decodeBody(text, hash => {
        const { data } = blobs.find(blob => blob.hash === hash)!
        return { data, bytes: data.length }
      })
      expect(JSON.stringify(back.plain ? textOf({ content: back.blocks }) : back.blocks)).toBe(
        JSON.stringify(blocks),
      )
      expect(JSON.stringify(back.meta)).toBe(JSON.stringify(meta ?? null))
    },
  )

  it('have the parents that the document states', () => {
    const known = new Set<string>([conversationIdOf()])
    for (const { name, parent, id } of vectors) {
      expect(known, name).toContain(parent)
      known.add(id)
    }
  })

  it('show the time rule', () => {
    const [root, again] = ['root', 'again'].map(name => vectors.find(vector => vector.name === name)!)
    expect(again).toEqual({ ...root, name: 'again', time: root!.time + 1, id: again!.id })
  })
})

describe('a store', () => {
  it('gives the messages of docs/data-model.md their ids and applies the time rule', async () => {
    const store = await openSqliteStore(':memory:')
    const { conversation } = await store.create({ id: conversationIdOf() })
    for (const vector of vectors) {
      const time = vector.name === 'again' ? vector.time - 1 : vector.time
      const message: NewMessage = {
        role: vector.role,
        content: contentOf(vector).blocks,
        ...(vector.meta && { metadata: expand(vector.meta) as JsonObject }),
        createdAt: new Date(time),
      }
      const parent = (vector.parent as string) === conversation.id ? null : vector.parent
      const [id] = await store.save(conversation.id, [{ message, parent }])
      expect(id, vector.name).toBe(vector.id)
      const [stored] = await store.getMessages([id])
      expect(stored!.createdAt.getTime(), vector.name).toBe(vector.time)
    }
    await store.close()
  })

  it('stores the positions of the table', async () => {
    const store = await openSqliteStore(':memory:')
    const { conversation } = await store.create()
    const rows = table('path_tokens')
    const items = rows.map(row => ({
      message: { role: 'user', content: 'hi', tokens: row.tokens! } as const,
      parent: row.parent_seq! < 0 ? null : { item: row.parent_seq! },
    }))
    await store.save(conversation.id, items)
    const { items: stored } = await store.listMessages({
      conversationId: conversation.id,
      order: 'ascending',
    })
    expect(stored.map(({ seq, depth, tokens, pathTokens }) => [seq, depth, tokens, pathTokens])).toEqual(
      rows.map(row => [row.seq, row.depth, row.tokens, row.path_tokens]),
    )
    await store.close()
  })
})

describe('the other numbers of docs/data-model.md', () => {
  it('include the checksums of summaries', () => {
    const checksums = fenced<{ of: string[]; sha256: string }>('checksum')
    expect(checksums).toHaveLength(1)
    for (const { of, sha256 } of checksums) {
      expect(sha256Hex(of.map(id => `${id}\n`).join(''))).toBe(sha256)
      expect(vectors.map(({ id }) => id)).toEqual(expect.arrayContaining(of))
    }
  })

  it('include the positions in a tree', () => {
    const rows = table('path_tokens')
    expect(rows.length).toBe(7)
    for (const [i, row] of rows.entries()) {
      const parent = rows[row.parent_seq!]
      expect(row).toEqual({
        seq: i,
        parent_seq: row.parent_seq,
        run: parent && row.parent_seq === i - 1 ? parent.run : i,
        depth: (parent?.depth ?? -1) + 1,
        tokens: row.tokens,
        path_tokens: (parent?.path_tokens ?? 0) + row.tokens!,
      })
    }
  })
})
