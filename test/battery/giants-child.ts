import { strict as assert } from 'node:assert'
import { sha256Hex } from '../../src/core/hash.ts'
import type { MessageId } from '../../src/core/ids.ts'
import { contentOf, type NonEmpty } from '../../src/core/message.ts'
import type { SaveItem, Store } from '../../src/core/ports.ts'
import { say } from '../../src/stores/contract/build.ts'
import { openStore } from '../../src/stores/open.ts'

/** A process that makes something very large in a store of its own, works on it, and says in one line of JSON how long
 *  that took and how much memory it needed. */

export type Giant = 'line' | 'siblings' | 'message'

/** Milliseconds, and megabytes for memory. */
export type Figures = Readonly<Record<string, number>>

/** How often each thing is timed. */
const times = 300

if (process.argv[1] === import.meta.filename) {
  const [target, giant, size] = process.argv.slice(2) as [string, Giant, string]
  const store = await openStore(target)
  const figures = await { line, siblings, message }[giant](store, Number(size))
  await store.close()
  const memory = process.resourceUsage().maxRSS / 1_024
  process.stdout.write(`${JSON.stringify({ ...figures, memory })}\n`)
}

/** A conversation of so many messages, one after the other. */
async function line(store: Store, size: number): Promise<Figures> {
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
  const append = await timed(async () => {
    head = (await store.append(branch, head, [words(n++)])).head
  })
  const window = await timed(async () => {
    const { messages, older } = await store.tail(head!, { messages: 50 })
    assert.ok(messages.length >= 49)
    assert.equal(older + messages.length, n)
  })
  // The negative control: what a window costs that reads more than it gives.
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
  assert.equal((await store.structure(id)).length, 21)
  assert.equal((await store.listBranches(id)).length, 21)
  return {
    build,
    ...append('append'),
    ...window('window'),
    ...wasteful('wasteful'),
    ...page('page'),
    ...fork('fork'),
  }
}

function words(n: number) {
  return say(`This is message number ${n} of a very long talk.`, n % 2 === 0 ? 'user' : 'assistant')
}

/** So many messages, in thousands, under one parent; a few hundred more with the same words, in the same millisecond or nearly. */
async function siblings(store: Store, size: number): Promise<Figures> {
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
  const append = await timed(async i => {
    head = (await store.append(side, head, [say(`on ${i}`)])).head
  })
  const window = await timed(async () => {
    assert.equal((await store.tail(head, { messages: 50 })).messages.length >= 49, true)
  })
  const drawn = performance.now()
  // The root, its children, and what goes on from one of them, which does not stand next to it.
  assert.equal((await store.structure(id)).length, 1 + size + alike + 1)
  const structure = performance.now() - drawn
  assert.equal((await store.path(head)).length, times + 2)
  const deleting = performance.now()
  const deleted = await store.deleteMessages([root], { recursive: true })
  const remove = performance.now() - deleting
  assert.equal(deleted.deleted, size + alike + times + 1)
  return { build, same, ...append('append'), ...window('window'), structure, remove }

  async function saveMany(text: (n: number) => string, length = 1_000): Promise<MessageId> {
    const items = Array.from({ length }, (_, n): SaveItem => ({ message: say(text(n)), parent: root }))
    return (await store.save(id, items as unknown as NonEmpty<SaveItem>)).at(-1)!
  }
}

/** One message of so many bytes. */
async function message(store: Store, size: number): Promise<Figures> {
  const { branch } = await store.create()
  const write = performance.now()
  const { text, hash } = longText(size)
  const { head } = await store.append(branch, null, [say(text)])
  const written = performance.now() - write
  const read = performance.now()
  const [whole] = await store.getMessages([head])
  const content = contentOf(whole!) as string
  assert.equal(content.length, size)
  const readIn = performance.now() - read
  assert.equal(sha256Hex(content), hash)
  const preview = await timed(async () => {
    const [short] = await store.getMessages([head], { blobs: 'preview' })
    assert.ok((contentOf(short!) as string).length <= 1_024)
  }, 50)
  const next = await timed(async i => {
    if (i === 0) await store.append(branch, head, [say('and on')])
    else assert.ok((await store.getBranch(branch)).head)
  }, 20)
  assert.equal((await store.search('beginning', { limit: 1 })).items.length, 1)
  return { write: written, read: readIn, ...preview('preview'), ...next('next') }
}

function longText(size: number): { text: string; hash: string } {
  const text = `beginning ${'The quick brown fox jumps over the lazy dog. '.repeat(size / 45 + 1)}`.slice(
    0,
    size,
  )
  return { text, hash: sha256Hex(text) }
}

/** Does a thing often; gives the middle and the hundredth-slowest of its times, by name. */
async function timed(work: (i: number) => Promise<void>, count = times): Promise<(name: string) => Figures> {
  const taken: number[] = []
  for (let i = 0; i < count; i++) {
    const begun = performance.now()
    await work(i)
    taken.push(performance.now() - begun)
  }
  taken.sort((a, b) => a - b)
  const at = (part: number) => taken[Math.min(taken.length - 1, Math.floor(taken.length * part))]!
  return name => ({ [`${name} p50`]: at(0.5), [`${name} p99`]: at(0.99) })
}
