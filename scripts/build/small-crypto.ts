import type { BinaryToTextEncoding, RandomUUIDOptions } from 'node:crypto'

/** `hash` and `randomUUID` of `node:crypto` for the first calls of a process. Node takes 4 to 5 ms of
 *  processor time to load its module, as long as all other work of a program that stores one message. The
 *  bundles have these functions in place of Node's; the sources import `node:crypto`. */

/** Most bytes that are hashed here, in half a millisecond. A process that hashes more loads Node's
 *  module. */
const mostBytes = 2_048
const mostIds = 20

let loaded: typeof import('node:crypto') | undefined
let hashedBytes = 0
let madeIds = 0

/** Node's module. */
export function load(): typeof import('node:crypto') {
  loaded ??= process.getBuiltinModule('node:crypto')
  return loaded
}

/** Whether Node's module is loaded already, perhaps by another part of the program. */
function isLoaded(): boolean {
  if (loaded) return true
  // Not documented. Without it, the first calls run here although the module is loaded.
  const { moduleLoadList } = process as { readonly moduleLoadList?: readonly string[] }
  return moduleLoadList?.includes('NativeModule crypto') ?? false
}

/** The same as `hash` of `node:crypto`. */
export function hash(
  algorithm: string,
  data: string | Uint8Array,
  encoding: BinaryToTextEncoding = 'hex',
): string {
  hashedBytes += data.length
  if (
    algorithm === 'sha256' &&
    (encoding === 'hex' || encoding === 'binary') &&
    hashedBytes <= mostBytes &&
    (typeof data === 'string' || data instanceof Uint8Array) &&
    !isLoaded()
  )
    return sha256(typeof data === 'string' ? Buffer.from(data) : data).toString(encoding)
  return load().hash(algorithm, data, encoding)
}

/** The same as `randomUUID` of `node:crypto`. */
export function randomUUID(options?: RandomUUIDOptions): string {
  const bytes = options === undefined && ++madeIds <= mostIds && !isLoaded() ? systemRandom() : null
  if (!bytes) return load().randomUUID(options)
  bytes[6] = (bytes[6]! & 0x0f) | 0x40
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

/** Sixteen bytes of the kernel's generator, or null if it is not a file here. */
function systemRandom(): Buffer | null {
  const { closeSync, fstatSync, openSync, readSync } = process.getBuiltinModule('node:fs')
  try {
    const file = openSync('/dev/urandom', 'r')
    try {
      const bytes = Buffer.alloc(16)
      return fstatSync(file).isCharacterDevice() && readSync(file, bytes) === 16 ? bytes : null
    } finally {
      closeSync(file)
    }
  } catch {
    return null
  }
}

/** SHA-256 (FIPS 180-4). */
export function sha256(data: Uint8Array): Buffer {
  const constants = roundConstants()
  const state = Int32Array.of(
    ...[0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19],
  )
  // The data, a bit that is set, zeros, and the length in bits.
  const size = (((data.length + 8) >> 6) + 1) << 6
  const padded = Buffer.alloc(size)
  padded.set(data)
  padded[data.length] = 0x80
  padded.writeUIntBE(data.length * 8, size - 6, 6)
  const words = new Int32Array(64)
  for (let block = 0; block < size; block += 64) {
    for (let i = 0; i < 16; i++) words[i] = padded.readInt32BE(block + i * 4)
    addBlock(state, words, constants)
  }
  const digest = Buffer.from(state.buffer)
  // Numbers in memory have the order of the processor.
  for (let i = 0; i < 8; i++) digest.writeInt32BE(state[i]!, i * 4)
  return digest
}

/** Adds one block, whose sixteen words are the first of `words`. */
function addBlock(state: Int32Array, words: Int32Array, constants: Int32Array): void {
  for (let i = 16; i < 64; i++) {
    const x = words[i - 15]!
    const y = words[i - 2]!
    const first = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3)
    const second = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10)
    words[i] = words[i - 16]! + first + words[i - 7]! + second
  }
  let [a, b, c, d, e, f, g, h] = state as unknown as Eight
  for (let i = 0; i < 64; i++) {
    const sumE = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7))
    const sumA = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10))
    const next = (h + sumE + ((e & f) ^ (~e & g)) + constants[i]! + words[i]!) | 0
    const majority = (a & b) ^ (a & c) ^ (b & c)
    h = g
    g = f
    f = e
    e = (d + next) | 0
    d = c
    c = b
    b = a
    a = (next + sumA + majority) | 0
  }
  for (const [i, value] of [a, b, c, d, e, f, g, h].entries()) state[i] = state[i]! + value
}

type Eight = [number, number, number, number, number, number, number, number]

let constantsMade: Int32Array | undefined

/** The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
function roundConstants(): Int32Array {
  constantsMade ??= Int32Array.of(
    ...[0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5],
    ...[0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174],
    ...[0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da],
    ...[0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967],
    ...[0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85],
    ...[0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070],
    ...[0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3],
    ...[0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2],
  )
  return constantsMade
}
