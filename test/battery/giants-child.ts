import { strict as assert } from 'node:assert'
import { fdatasyncSync, writeSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { Client } from 'pg'
import type { MessageId } from '../../src/core/ids.ts'
import { contentOf, type NonEmpty } from '../../src/core/message.ts'
import { collectPages } from '../../src/core/pages.ts'
import { pathOf } from '../../src/core/path.ts'
import type { SaveItem, Store } from '../../src/core/ports.ts'
import { openStore } from '../../src/stores/open.ts'
import { say } from '../../src/testing/contract/build.ts'
import { peakMemory } from './peak.ts'

/** A process that creates something very large in its own store, works on it, and prints the durations and
 *  the memory use as one line of JSON. */

export type Giant = 'line' | 'siblings' | 'message'

/** Milliseconds, and megabytes for memory. */
export type Figures = Readonly<Record<string, number>>

/** How often each operation is timed. */
const times = 300

/** Characters of each part of a long message. */
const partLength = 100_000

if (process.argv[1] === import.meta.filename) {
  const [target, giant, size] = process.argv.slice(2) as [string, Giant, string]
  const store = await openStore(target)
  const floor = await floorOf(target)
  const figures = await { line, siblings, message }[giant](store, Number(size), floor.touch)
  await floor.close()
  await store.close()
  const memory = peakMemory() / 2 ** 20
  process.stdout.write(`${JSON.stringify({ ...figures, memory })}\n`)
}

/** A conversation of this many messages, one after the other. */
async function line(store: Store, size: number, touch: Touch): Promise<Figures> {
  const { conversation, branch } = await store.create()
  const { id } = conversation
  let head: MessageId | null = null
  const built = performance.now()
  for (let i = 0; i < size; i += 1_000) {
    const batch = Array.from({ length: Math.min(1_000, size - i) }, (_, n) => words(i + n))
    head = (await store.append(branch, head, batch as unknown as NonEmpty<ReturnType<typeof say>>)).head
  }
  const build = performance.now() - built
  let n = size
  const [append, floor] = await timedInTurns(async () => {
    head = (await store.append(branch, head, [words(n++)])).head
  }, touch)
  const window = await timed(async () => {
    const { messages, older } = await store.tail(head!, { messages: 50 })
    assert.ok(messages.length >= 49)
    assert.equal(older + messages.length, n)
  })
  // The negative control: the cost of a window that reads more than it returns.
  const wasteful = await timed(async () => {
    const { messages } = await store.tail(head!, { messages: 5_000 })
    assert.ok(messages.slice(-50).length === 50)
  }, 3)
  const page = await timed(async () => {
    const { items } = await store.listMessages({ conversationId: id, order: 'descending', limit: 50 })
    assert.equal(items[0]!.seq, n - 1)
  }, 50)
  const fork = await timed(async i => {
    const side = await store.createBranch(id, head, { name: `side ${i}` })
    await store.append(side, head, [say('beside')])
  }, 20)
  assert.equal((await store.getConversation(id)).messages, n + 20)
  assert.equal((await collectPages(page => store.listStretches(id, page))).length, 21)
  assert.equal((await collectPages(page => store.listBranches(id, page))).length, 21)
  return {
    build,
    ...append('append'),
    ...floor('floor'),
    ...window('window'),
    ...wasteful('wasteful'),
    ...page('page'),
    ...fork('fork'),
  }
}

function words(n: number) {
  return say(`This is message number ${n} of a very long talk.`, n % 2 === 0 ? 'user' : 'assistant')
}

/** This many messages, in thousands, under one parent; a few hundred more with the same content, in nearly
 *  the same millisecond. */
async function siblings(store: Store, size: number, touch: Touch): Promise<Figures> {
  const { conversation, branch } = await store.create()
  const { id } = conversation
  const { head: root } = await store.append(branch, null, [say('root')])
  const built = performance.now()
  let last: MessageId = root
  for (let i = 0; i < size; i += 1_000) last = await saveMany(n => `sibling ${i + n}`)
  const build = performance.now() - built
  const twins = performance.now()
  const alike = Math.min(1_000, size / 20)
  await saveMany(() => 'all of us say the same', alike)
  const same = (performance.now() - twins) / alike
  const side = await store.createBranch(id, last, { name: 'side' })
  let head = last
  const [append, floor] = await timedInTurns(async i => {
    head = (await store.append(side, head, [say(`on ${i}`)])).head
  }, touch)
  const window = await timed(async () => {
    assert.equal((await store.tail(head, { messages: 50 })).messages.length >= 49, true)
  })
  const drawn = performance.now()
  // The root, its children, and a continuation of one of them, which is not adjacent to it.
  assert.equal((await collectPages(page => store.listStretches(id, page))).length, 1 + size + alike + 1)
  const structure = performance.now() - drawn
  assert.equal((await pathOf(store, head)).length, times + 2)
  const deleting = performance.now()
  const deleted = await store.deleteMessages([root], { recursive: true })
  const remove = performance.now() - deleting
  assert.equal(deleted.deleted, size + alike + times + 1)
  return { build, same, ...append('append'), ...floor('floor'), ...window('window'), structure, remove }

  async function saveMany(text: (n: number) => string, length = 1_000): Promise<MessageId> {
    const items = Array.from({ length }, (_, n): SaveItem => ({ message: say(text(n)), parent: root }))
    return (await store.save(id, items)).at(-1)!
  }
}

/** One message of this many bytes. The store is measured: the process keeps no copies of its own. */
async function message(store: Store, size: number): Promise<Figures> {
  const { branch } = await store.create()
  const writing = performance.now()
  const { head } = await store.append(branch, null, [say(longText(size))])
  const write = performance.now() - writing
  const reading = performance.now()
  const content = contentOf((await store.getMessages([head]))[0]!) as string
  const read = performance.now() - reading
  assert.equal(content.length, size)
  for (let n = 0; n < size / partLength; n++) assert.ok(content.startsWith(part(n), n * partLength))
  const preview = await timed(async () => {
    const [short] = await store.getMessages([head], { blobs: 'preview' })
    assert.ok((contentOf(short!) as string).length <= 1_024)
  }, 50)
  await store.append(branch, head, [say('and on')])
  const next = await timed(async () => assert.ok((await store.getBranch(branch)).head), 20)
  assert.equal((await store.search('beginning', { limit: 1 })).items.length, 1)
  return { write, read, ...preview('preview'), ...next('next') }
}

function longText(size: number): string {
  return Array.from({ length: size / partLength }, (_, n) => part(n)).join('')
}

function part(n: number): string {
  return `beginning of part ${n}. `.padEnd(partLength, 'The quick brown fox jumps over the lazy dog. ')
}

/** The minimum that an append can do. */
type Touch = () => Promise<void>

/** The current speed of the machine itself: two pages written and synced to the same disk, or a round trip to
 *  the same server. An append cannot be faster, whatever the load. */
async function floorOf(target: string): Promise<{ touch: Touch; close(): Promise<void> }> {
  if (target.startsWith('postgres')) {
    const client = new Client({ connectionString: target })
    await client.connect()
    return { touch: async () => void (await client.query('SELECT 1')), close: () => client.end() }
  }
  const file = await open(`${target}-floor`, 'a')
  const pages = Buffer.alloc(8_192)
  const touch = async () => {
    writeSync(file.fd, pages)
    fdatasyncSync(file.fd)
  }
  return { touch, close: () => file.close() }
}

type Work = (i: number) => Promise<void>

/** The median and the 99th percentile of an operation's durations, under names that begin with its own. */
type Times = (name: string) => Figures

async function timed(work: Work, count = times): Promise<Times> {
  const taken: number[] = []
  for (let i = 0; i < count; i++) taken.push(await timeOf(() => work(i)))
  return timesOf(taken)
}

/** Two operations alternating, so that the load of the machine is the same for both. */
async function timedInTurns(one: Work, other: Work): Promise<readonly [Times, Times]> {
  const taken: readonly [number[], number[]] = [[], []]
  for (let i = 0; i < times; i++) {
    taken[0].push(await timeOf(() => one(i)))
    taken[1].push(await timeOf(() => other(i)))
  }
  return [timesOf(taken[0]), timesOf(taken[1])]
}

async function timeOf(work: () => Promise<void>): Promise<number> {
  const begun = performance.now()
  await work()
  return performance.now() - begun
}

function timesOf(taken: readonly number[]): Times {
  const sorted = taken.toSorted((a, b) => a - b)
  const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]!
  return name => ({ [`${name} p50`]: at(0.5), [`${name} p99`]: at(0.99) })
}
