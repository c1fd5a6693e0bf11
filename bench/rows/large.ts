import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { MessageId } from '../../src/core/ids.ts'
import type { NewMessage } from '../../src/core/message.ts'
import type { Store } from '../../src/core/ports.ts'
import { openPostgresStore } from '../../src/stores/postgres/index.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'
import { startPostgres } from '../../test/support/postgres.ts'
import { longestBlock } from '../longest-block.ts'
import { median } from '../measure.ts'
import { inFreshProcess } from '../process.ts'
import { type Line, type Suite, time } from '../suite.ts'
import { commonWords } from '../workload.ts'

/** How long one large message keeps the event loop from turning, by what it contains. Time in which other
 *  work had the processors does not count. */

const sizes = [1, 10, 30]
const tries = 3

type Kind = 'text' | 'text beyond Latin-1' | 'JSON of a tool' | 'attachment'

/** Messages of about so many megabytes. Each is different, so that no blob is stored already. */
const kinds: Readonly<Record<Kind, (megabytes: number) => NewMessage>> = {
  text: megabytes => ({ role: 'user', content: flat(`${unique()}${'word '.repeat(megabytes * 200_000)}`) }),
  'text beyond Latin-1': megabytes => ({
    role: 'user',
    content: flat(`${unique()}${'wörd → '.repeat(megabytes * 100_000)}`),
  }),
  'JSON of a tool': megabytes => ({
    role: 'tool_result',
    content: [{ type: 'tool_result', callId: 'c', output: [unique(), ...lines(megabytes * 10_000)] }],
  }),
  attachment: megabytes => ({
    role: 'user',
    content: [
      { type: 'file', mime: 'application/pdf', data: randomBytes(megabytes * 750_000).toString('base64') },
    ],
  }),
}

function lines(count: number) {
  return Array.from({ length: count }, (_, line) => ({
    path: `src/file-${line}.ts`,
    line,
    text: 'a line of a file that is not that long',
    matches: true,
  }))
}

function unique(): string {
  return randomBytes(8).toString('hex')
}

/** A text as a file or a socket returns it, in one piece of memory. */
function flat(text: string): string {
  return Buffer.from(text).toString()
}

interface Target {
  /** A path or a URL. */
  readonly target: string
}

/** Milliseconds by work, kind and size: of the longest block, and of the whole call. */
type Found = Record<string, { readonly blocked: number; readonly took: number }>

async function measure({ target }: Target): Promise<Found> {
  const isUrl = target.startsWith('postgres')
  const store: Store = await (isUrl ? openPostgresStore(target) : openSqliteStore(target))
  const found: Found = {}
  for (const [kind, make] of Object.entries(kinds)) {
    for (const size of sizes) {
      const samples = new Map<string, { blocked: number; took: number }[]>()
      const note = async (work: string, call: () => Promise<unknown>) => {
        const start = performance.now()
        const { ownMs } = await longestBlock(call)
        const list = samples.get(work) ?? []
        list.push({ blocked: ownMs, took: performance.now() - start })
        samples.set(work, list)
      }
      for (let i = 0; i < tries; i++) {
        const message = make(size)
        const { branch } = await store.create()
        let head: MessageId | undefined
        await note('append', async () => {
          head = (await store.append(branch, null, [message])).head
        })
        await note('tail', () => store.tail(head!, { messages: 10 }))
        await note('tail with previews', () => store.tail(head!, { messages: 10 }, { blobs: 'preview' }))
        await note('indexSearch', () => store.indexSearch())
        await note('search', () => store.search('word', { limit: 1 }))
        await note('readRecords', async () => {
          for await (const _ of store.readRecords(branch.conversationId)) void _
        })
      }
      for (const [work, list] of samples) found[`${work}, ${kind}, ${size} MB`] = middle(list)
    }
  }
  for (const order of ['newest', 'ranked'] as const) {
    found[`search of sixty words, ${order}, ten messages of 1 MB`] = await searchProse(store, order)
  }
  await store.close()
  return found
}

/** Searches sixty common words that ten messages of four texts contain. */
async function searchProse(store: Store, order: 'newest' | 'ranked') {
  const { branch } = await store.create()
  for (let i = 0; i < 10; i++) {
    const texts = Array.from({ length: 4 }, (_, k) => ({ type: 'text' as const, text: proseOf(i * 4 + k) }))
    const { head } = await store.getBranch(branch)
    await store.append(branch, head, [{ role: 'user', content: texts }])
  }
  await store.indexSearch()
  const query = `${commonWords.slice(28, 88).join(' ')} in:${branch.conversationId}`
  const samples: { blocked: number; took: number }[] = []
  for (let i = 0; i < tries; i++) {
    const start = performance.now()
    const { ownMs } = await longestBlock(() => store.search(query, { order, budgetMs: 60_000 }))
    samples.push({ blocked: ownMs, took: performance.now() - start })
  }
  return middle(samples)
}

function middle(samples: readonly { readonly blocked: number; readonly took: number }[]) {
  const [blocked, took] = [samples.map(one => one.blocked), samples.map(one => one.took)]
  return { blocked: median(blocked), took: median(took) }
}

/** A text of 256 kB. */
function proseOf(number: number): string {
  const words: string[] = []
  for (let i = 0, length = 0; length < 262_000; i++) {
    const word = commonWords[(i * 37 + (i >> 5) * 11 + number) % commonWords.length]!
    length += word.length + 1
    words.push(word)
  }
  return words.join(' ')
}

export const largeSuite: Suite = {
  name: 'large',
  when: 'byName',
  tasks: { measure },
  async run(bench) {
    const server = await startPostgres({ fsync: 'on' })
    try {
      const targets = { SQLite: join(bench.place, 'large.db'), PostgreSQL: await server.createDatabase() }
      const rows: Line[] = []
      for (const [engine, target] of Object.entries(targets)) {
        const found = await inFreshProcess<Found>({ suite: 'large', task: 'measure', args: { target } })
        for (const [name, { blocked, took }] of Object.entries(found)) {
          const megabytes = Number(/(\d+) MB$/.exec(name)![1])
          const perMegabyte = `${(blocked / megabytes).toFixed(1)} ms per MB, ${took.toFixed(0)} ms in all`
          const shown = { work: `longest block, ${engine}: ${name}`, ours: time(blocked * 1_000) }
          rows.push(
            megabytes > 1
              ? { ...shown, note: perMegabyte }
              : {
                  ...shown,
                  value: blocked,
                  goal: 50,
                  note: 'the goal is in ms',
                  why: 'the index parses the JSON of a message, and divides 256 kB of its text into words, in one piece each.',
                },
          )
        }
      }
      return rows
    } finally {
      await server.stop()
    }
  },
}
