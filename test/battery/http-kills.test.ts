import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { createClient } from '../../src/client/index.ts'
import { textOf } from '../../src/core/message.ts'
import { collectPages } from '../../src/core/pages.ts'
import { openStore } from '../../src/stores/open.ts'
import { home } from '../cli/skein.ts'
import { type ServedProcess, startServed } from '../server/served.ts'
import { createDatabase } from '../support/postgres.ts'
import { postgresUrl } from '../support/postgres-url.ts'
import { note } from './note.ts'
import { size } from './size.ts'

/** Two processes serve one PostgreSQL. One after the other is killed and replaced. */
const kills = size({ gate: 2, full: 50 })
const timeout = size({ gate: 120_000, full: 1_800_000 })
const [conversations, followers] = [3, 4]

it('delivers every acknowledged message once, in order, to followers of servers that are killed', {
  timeout,
}, async () => {
  using place = home()
  const db = await createDatabase(await postgresUrl())
  const servers: ServedProcess[] = []
  const start = () => startServed(place, ['--db', db, '--log-level', 'silent'])
  try {
    // The first one creates the schema and the token.
    servers.push(await start(), await start())
    let turn = 0
    const client = createClient({
      url: 'http://fleet',
      token: servers[0]!.token,
      retries: 100,
      // A load balancer that does not know which servers are alive.
      fetch: (input, init) => {
        const { pathname, search } = new URL(String(input))
        return fetch(servers[turn++ % servers.length]!.url + pathname + search, init)
      },
    })
    const made = await Promise.all(Array.from({ length: conversations }, () => client.createConversation()))
    const ids = made.map(({ id }) => id)
    const stop = new AbortController()
    const seen = Array.from({ length: followers }, () => new Map(ids.map(id => [id, [] as string[]])))
    const begun: Promise<void>[] = []
    const following = seen.map(async texts => {
      const { promise, resolve } = Promise.withResolvers<void>()
      begun.push(promise)
      const told = new Set<string>()
      for await (const { event } of client.follow({ conversations: ids, signal: stop.signal })) {
        if (event.type === 'branches') told.add(event.conversation)
        if (told.size === ids.length) resolve()
        if (event.type === 'message')
          texts.get(event.conversation)!.push(event.message.blocks.map(textIn).join(''))
      }
    })
    await Promise.all(begun)

    const acknowledged = new Map(ids.map(id => [id, [] as string[]]))
    let isWriting = true
    const writing = ids.map(async id => {
      for (let n = 0; isWriting; n++) {
        const messages = [{ role: 'user' as const, content: `${n}` }]
        await client.appendMessages(id, { messages }, { idempotencyKey: `${id} ${n}`.replace(' ', '-') })
        acknowledged.get(id)!.push(`${n}`)
        await pause(20)
      }
    })
    const total = () => [...acknowledged.values()].reduce((sum, texts) => sum + texts.length, 0)
    for (let kill = 0; kill < kills; kill++) {
      const before = total()
      await expect.poll(total, { timeout: 60_000 }).toBeGreaterThan(before + 2 * conversations)
      const victim = kill % servers.length
      await servers[victim]!.kill()
      servers[victim] = await start()
    }
    isWriting = false
    await Promise.all(writing)

    await using store = await openStore(db, { indexing: 'manual' })
    for (const id of ids) {
      const stored = await collectPages(page =>
        store.listMessages({ conversationId: id, order: 'ascending', ...page }),
      )
      // A retry whose first attempt was stored by the server that died is stored once.
      expect(stored.map(textOf)).toEqual(acknowledged.get(id))
      for (const texts of seen)
        await expect
          .poll(() => texts.get(id)!.length, { timeout: 60_000 })
          .toBeGreaterThanOrEqual(stored.length)
      for (const texts of seen) expect(texts.get(id)).toEqual(acknowledged.get(id))
    }
    note('kills', kills)
    note('messages, each to 4 followers', total())
    stop.abort()
    await Promise.all(following)
  } finally {
    for (const server of servers) await server.kill()
  }
})

function textIn(block: unknown): string {
  return (block as { text: string }).text
}
