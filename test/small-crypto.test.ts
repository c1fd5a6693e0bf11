import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { hash, randomUUID, sha256 } from '../scripts/build/small-crypto.ts'
import { type Run, runWithWitness } from './support/witness.ts'

const source = join(import.meta.dirname, '../scripts/build/small-crypto.ts')

/** Runs code in a process that has not loaded `node:crypto`. */
function run(code: string): Run {
  const place = mkdtempSync(join(tmpdir(), 'skein-crypto-'))
  onTestFinished(() => rmSync(place, { recursive: true }))
  const program = join(place, 'program.mjs')
  writeFileSync(program, `import { hash, randomUUID } from ${JSON.stringify(source)}\n${code}`)
  const { NODE_OPTIONS: _, ...env } = process.env
  return runWithWitness(['--disable-warning=ExperimentalWarning', program], { place, cwd: place, env })
}

const hex = (data: string | Uint8Array) => createHash('sha256').update(data).digest('hex')
const loadsCrypto = ({ builtins }: Run) => builtins.includes('NativeModule crypto')

describe('sha256 of the bundles', () => {
  it('equals the hash of Node for every length around the ends of blocks', () => {
    for (let length = 0; length < 300; length++) {
      const data = Buffer.alloc(length, length)
      expect(sha256(data).toString('hex'), `${length} bytes`).toBe(hex(data))
    }
  })

  it('equals the hash of Node for any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 1_000 }), data => {
        expect(sha256(data).toString('hex')).toBe(hex(data))
      }),
      { numRuns: 500 },
    )
  })
})

describe('crypto of the bundles', () => {
  it('hashes and makes ids without loading the module of Node', () => {
    const texts = ['', 'hello', 'grüße 👋', '\ud800 alone', 'x'.repeat(1_000)]
    const ran = run(`
      const texts = ${JSON.stringify(texts)}
      const ids = Array.from({ length: 10 }, () => randomUUID())
      console.log(JSON.stringify({ hashes: texts.map(text => hash('sha256', text)), ids,
        binary: Buffer.from(hash('sha256', Buffer.from('hello'), 'binary'), 'latin1').toString('hex') }))`)
    const { hashes, ids, binary } = JSON.parse(ran.stdout) as Record<'hashes' | 'ids', string[]> & {
      binary: string
    }
    expect(hashes).toEqual(texts.map(hex))
    expect(binary).toBe(hex('hello'))
    expect(new Set(ids).size).toBe(10)
    for (const id of ids)
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    // Windows has no file of random bytes.
    if (process.platform !== 'win32') expect(loadsCrypto(ran)).toBe(false)
  })

  it('loads the module of Node for the hashes of many bytes, for many ids and for other hashes', () => {
    const programs = [
      `const all = Array.from({ length: 20 }, (_, i) => hash('sha256', String(i).repeat(500)))`,
      `const all = Array.from({ length: 30 }, () => randomUUID())`,
      `const all = [hash('sha512', 'hello')]`,
    ]
    const results = programs.map(code => run(`${code}\nconsole.log(JSON.stringify(all))`))
    expect(results.map(loadsCrypto)).toEqual([true, true, true])
    const expected = Array.from({ length: 20 }, (_, i) => hex(String(i).repeat(500)))
    expect(JSON.parse(results[0]!.stdout)).toEqual(expected)
    expect(new Set(JSON.parse(results[1]!.stdout) as string[]).size).toBe(30)
  })

  it('uses the module of Node at once if the program has loaded it', () => {
    const ran = run(`
      const crypto = process.getBuiltinModule('node:crypto')
      let calls = 0
      const real = crypto.hash
      crypto.hash = (...args) => { calls++; return real(...args) }
      hash('sha256', 'hello')
      console.log(calls)`)
    expect(ran.stdout).toBe('1\n')
    // These tests have loaded it.
    expect(hash('sha256', 'hello')).toBe(hex('hello'))
    expect(randomUUID()).toMatch(/^[0-9a-f-]{36}$/)
  })
})
