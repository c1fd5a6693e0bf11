import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hashMessage, sha256Hex } from '../../src/core/hash.ts'
import { conversationId, type MessageId } from '../../src/core/ids.ts'

const root = conversationId('0b6f54a1-9db1-4e7c-8f3a-5d2c7e9a1b04')

/** Base32 by definition: the digest as one number, five bits at a time. */
function idByTheBook(parent: string, role: string, time: number, bodyHash: string): string {
  const digest = createHash('sha256').update(`skein:1\n${parent}\n${role}\n${time}\n${bodyHash}\n`).digest()
  let bits = BigInt(`0x${digest.subarray(0, 20).toString('hex')}`)
  let id = ''
  for (let i = 0; i < 32; i++, bits >>= 5n) id = 'abcdefghijklmnopqrstuvwxyz234567'[Number(bits & 31n)]! + id
  return id
}

describe('sha256Hex', () => {
  it('matches the published vectors for text and bytes', () => {
    expect(sha256Hex('')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
    expect(sha256Hex('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
    expect(sha256Hex(new TextEncoder().encode('abc'))).toBe(sha256Hex('abc'))
  })

  it('hashes the UTF-8 of a text', () => {
    expect(sha256Hex('grüße 👋')).toBe(sha256Hex(Buffer.from('grüße 👋', 'utf8')))
  })
})

describe('hashMessage', () => {
  it('returns the first 160 bits of the hash in base32', () => {
    fc.assert(
      fc.property(fc.nat(), fc.string(), (time, words) => {
        const bodyHash = sha256Hex(words)
        expect(hashMessage(root, 'user', time, bodyHash)).toBe(idByTheBook(root, 'user', time, bodyHash))
      }),
    )
  })

  it('depends on parent, role, time and body only', () => {
    const body = sha256Hex('{"blocks":"hello"}')
    const first = hashMessage(root, 'user', 1, body)
    const others = [
      hashMessage(first, 'user', 1, body),
      hashMessage(root, 'assistant', 1, body),
      hashMessage(root, 'user', 2, body),
      hashMessage(root, 'user', 1, sha256Hex('{"blocks":"hello "}')),
    ]
    expect(new Set<MessageId>([first, ...others]).size).toBe(5)
    expect(hashMessage(root, 'user', 1, body)).toBe(first)
  })
})
