import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ConversationId } from '../../src/core/ids.ts'
import type { Message, NewMessage } from '../../src/core/message.ts'
import { collectPages } from '../../src/core/pages.ts'
import { pathOf } from '../../src/core/path.ts'
import type { Store } from '../../src/core/ports.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'

/** A folder that is removed at the end of its block. */
export function folder() {
  const path = mkdtempSync(join(tmpdir(), 'skein-damage-'))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}

/** All data of a message, as a reader returns it. */
export type Truth = ReadonlyMap<ConversationId, readonly string[]>

/** A random number from 0 up to 1, the same sequence for a seed (mulberry32). */
export function dice(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

const words = 'the build is red because one of two retries meets a lock that no-one has let go of'.split(' ')

/** Fills a file with conversations that have forks, turns, tool calls and blobs until it has this many bytes,
 *  and closes it completely: no log remains. */
export async function fill(path: string, bytes: number, seed: number): Promise<Truth> {
  const roll = dice(seed)
  const text = (length: number) =>
    Array.from({ length }, () => words[Math.floor(roll() * words.length)]).join(' ')
  {
    await using store = await openSqliteStore(path)
    for (let n = 0; ; n++) {
      const { conversation, branch } = await store.create({
        title: `Talk ${n}`,
        key: `talk:${n}`,
        tags: ['sample'],
      })
      const messages = Array.from(
        { length: 20 },
        (_, i): NewMessage => ({
          role: i % 2 === 0 ? 'user' : 'assistant',
          content: text(40 + Math.floor(roll() * 240)),
          ...(i % 5 === 0 && { metadata: { i } }),
        }),
      )
      const turn = { key: 'first', step: 0, model: 'scripted', usage: { input: 9, output: 9 } }
      const { ids } = await store.append(branch, null, messages, { turn })
      const at = ids[Math.floor(roll() * 10)]!
      await store.createBranch(conversation.id, at, { name: 'fork' })
      const large = n % 4 === 0 ? text(5_000) : text(30)
      await store.append({ conversationId: conversation.id, name: 'fork' }, at, [
        { role: 'user', content: large },
        { role: 'assistant', content: [{ type: 'text', text: text(30) }] },
      ])
      if (n % 8 === 7 && readFileSync(path).length + sizeOf(`${path}-wal`) > bytes) break
    }
    await store.search('lock')
  }
  await using store = await openSqliteStore(path)
  return await truthOf(store)
}

function sizeOf(path: string): number {
  return existsSync(path) ? readFileSync(path).length : 0
}

/** Reads everything through the normal readers. */
export async function truthOf(store: Store): Promise<Truth> {
  const truth = new Map<ConversationId, readonly string[]>()
  for (let after: string | undefined, more = true; more; ) {
    const page = await store.listConversations({ limit: 1_000, ...(after !== undefined && { after }) })
    for (const { id } of page.items) truth.set(id, await messagesOf(store, id))
    after = page.next ?? undefined
    more = after !== undefined
  }
  return truth
}

/** The content of a conversation, by list and by path of each branch, including counts. Branch names are left
 *  out: they have no hash and are not part of any message. */
export async function messagesOf(store: Store, id: ConversationId): Promise<readonly string[]> {
  const { items, skipped } = await store.listMessages({
    conversationId: id,
    order: 'ascending',
    limit: 1_000,
  })
  const seen = [...items.map(shown), ...skipped.map(({ reason }) => `unreadable: ${reason}`)]
  const heads = (await collectPages(page => store.listBranches(id, page))).map(({ head }) => head)
  for (const head of heads.toSorted()) {
    seen.push(`head ${head}`)
    if (head !== null) seen.push(...(await pathOf(store, head, { blobs: 'preview' })).map(({ id }) => id))
  }
  return seen
}

function shown({
  id,
  parentId,
  seq,
  depth,
  role,
  content,
  metadata: meta,
  createdAt,
  tokens,
  pathTokens,
}: Message): string {
  return JSON.stringify([id, parentId, seq, depth, role, content, meta, createdAt, tokens, pathTokens])
}

/** The conversations that differ from what was written; all of them, if the file cannot be opened. */
export async function changedSince(truth: Truth, path: string): Promise<ReadonlySet<ConversationId>> {
  let store: Store
  try {
    store = await openSqliteStore(path)
  } catch {
    return new Set(truth.keys())
  }
  await using _ = store
  return await changedIn(truth, store)
}

export async function changedIn(truth: Truth, store: Store): Promise<ReadonlySet<ConversationId>> {
  const changed = new Set<ConversationId>()
  for (const [id, messages] of truth) {
    try {
      const now = await messagesOf(store, id)
      if (now.length !== messages.length || now.some((line, i) => line !== messages[i])) changed.add(id)
    } catch {
      changed.add(id)
    }
  }
  return changed
}

/** A copy of a file with some bytes changed, as after a crash: without its log. */
export function damagedCopy(
  original: Buffer,
  path: string,
  change: (bytes: Buffer) => Buffer | undefined,
): void {
  const bytes = Buffer.from(original)
  for (const end of ['-wal', '-shm']) rmSync(`${path}${end}`, { force: true })
  writeFileSync(path, change(bytes) ?? bytes)
}
