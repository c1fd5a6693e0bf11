/** Fills a file, flips single bits of copies of it until this many flips have changed a message, and prints
 *  how many of them `verify` reported. For the first `compared` of them, `skein verify` and
 *  `examples/format-reader.mjs` have to agree with it.
 *
 *  node flips.ts <folder> <changed messages> <seed> <compared> */
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { openStore, type Store } from 'skein'
import type { Finding } from 'skein/maintenance'

const [folder = '', wanted, seed, compared] = process.argv.slice(2)
const roll = dice(Number(seed))
const whole = join(folder, 'whole.db')
const flipped = join(folder, 'flipped.db')

/** A random number from 0 up to 1, the same sequence for a seed (mulberry32). */
function dice(start: number): () => number {
  let state = start
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

const words = 'the build is red because one of two retries meets a lock that it has to wait for'.split(' ')
const text = (length: number) =>
  Array.from({ length }, () => words[Math.floor(roll() * words.length)]).join(' ')

async function fill(): Promise<void> {
  await using store = await openStore(whole)
  for (let n = 0; n < 60; n++) {
    const { branch } = await store.findOrCreate(`talk:${n}`, { title: `Talk ${n}` })
    const said = Array.from({ length: 10 }, (_, i) => [
      {
        role: 'user' as const,
        content: text(n % 4 === 0 && i === 9 ? 5_000 : 40 + Math.floor(roll() * 200)),
      },
      { role: 'assistant' as const, content: [{ type: 'text' as const, text: text(60) }] },
    ]).flat()
    await store.append(branch, null, said, { turn: { key: 'first', step: 0 } })
  }
}

/** All messages as a reader sees them; one that cannot be read has changed. */
async function messagesOf(store: Store): Promise<string[]> {
  const seen: string[] = []
  for (let n = 0; n < 60; n++) {
    try {
      const found = await store.findByKey(`talk:${n}`)
      const conversationId = found!.conversation.id
      const { items } = await store.listMessages({ conversationId, order: 'ascending', limit: 1_000 })
      for (const { id, parentId, role, createdAt, content } of items)
        seen.push(JSON.stringify([n, id, parentId, role, createdAt, content]))
    } catch (error) {
      seen.push(`${n} cannot be read: ${error}`)
    }
  }
  return seen
}

interface Looked {
  readonly changed: boolean
  /** The findings of `verify` that are not notes. */
  readonly reported: readonly Pick<Finding, 'severity' | 'seq' | 'what'>[]
}

/** Whether a message of the file differs, and whether `verify` says so. */
async function look(truth: readonly string[]): Promise<Looked> {
  let store: Store
  try {
    store = await openStore(flipped)
  } catch (error) {
    return { changed: true, reported: [{ severity: 'damage', seq: null, what: String(error) }] }
  }
  await using _ = store
  const reported: Finding[] = []
  await store.verify({ onFinding: finding => reported.push(finding) })
  const now = await messagesOf(store)
  const changed = now.length !== truth.length || now.some((one, i) => one !== truth[i])
  return { changed, reported: reported.filter(({ severity }) => severity !== 'note') }
}

function foundBySqlite(): boolean {
  try {
    const db = new Database(flipped)
    try {
      return db.pragma('integrity_check', { simple: true }) !== 'ok'
    } finally {
      db.close()
    }
  } catch {
    return true
  }
}

function exitCode(...args: readonly string[]): number | null {
  return spawnSync(process.execPath, args, { stdio: 'ignore' }).status
}

await fill()
const original = readFileSync(whole)
writeFileSync(flipped, original)
const clean = await openStore(whole)
const truth = await messagesOf(clean)
await clean.close()

const total = { flips: 0, changed: 0, reported: 0, bySqlite: 0, compared: 0 }
const missed: string[] = []
while (total.changed < Number(wanted)) {
  const [at, bit] = [Math.floor(roll() * original.length), Math.floor(roll() * 8)]
  const bytes = Buffer.from(original)
  bytes[at]! ^= 1 << bit
  for (const end of ['-wal', '-shm']) rmSync(`${flipped}${end}`, { force: true })
  writeFileSync(flipped, bytes)
  total.flips++
  const { changed, reported } = await look(truth)
  if (!changed) continue
  total.changed++
  if (reported.length > 0) total.reported++
  else missed.push(`byte ${at}, bit ${bit}`)
  if (foundBySqlite()) total.bySqlite++
  if (total.compared >= Number(compared)) continue
  total.compared++
  const damages = reported.filter(({ severity }) => severity === 'damage')
  writeFileSync(flipped, bytes)
  for (const end of ['-wal', '-shm']) rmSync(`${flipped}${end}`, { force: true })
  const byReader = exitCode('node_modules/skein/examples/format-reader.mjs', flipped) !== 0
  const byCommand = exitCode('node_modules/skein/dist/cli/skein.cjs', 'verify', '--db', flipped) !== 0
  // The reader looks at messages and blobs, and not at branches, tags or the pages of indexes.
  const isInMessage = damages.some(({ seq }) => seq !== null)
  if (byCommand === damages.length > 0 && (byReader ? damages.length > 0 : !isInMessage)) continue
  missed.push(`byte ${at}, bit ${bit}: reader ${byReader}, command ${byCommand}, ${JSON.stringify(reported)}`)
}
console.log(JSON.stringify({ ...total, missed }))
