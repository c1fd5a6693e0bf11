import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { PassThrough } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, it, onTestFinished, vi } from 'vitest'
import { startProxy } from '../../../src/acp/proxy/proxy.ts'
import { openStore, type Store } from '../../../src/index.ts'

const length = 1_000

/** A conversation of 10 MB: many times as long as the proxy may hold for a client. */
async function longConversation(store: Store, cwd: string): Promise<string> {
  const { conversation, branch } = await store.create({ directory: cwd })
  const text = 'word '.repeat(2_000)
  const messages = Array.from({ length }, (_, i) => ({
    role: i % 2 === 0 ? ('user' as const) : ('assistant' as const),
    content: `${i} ${text}`,
  }))
  await store.append(branch, null, messages)
  return conversation.id
}

it('reads a transcript only as fast as the client takes it', async () => {
  await using store = await openStore(':memory:')
  const cwd = import.meta.dirname
  const sessionId = await longConversation(store, cwd)
  let pagesRead = 0
  const counted: Store = {
    ...store,
    listPath: (...args) => {
      pagesRead++
      return store.listPath(...args)
    },
  }
  const [input, output] = [new PassThrough(), new PassThrough()]
  const proxy = startProxy({
    ...{ store: counted, name: 'late', input, output, log: () => undefined },
    command: { command: process.execPath, args: [join(cwd, 'late-agent.ts')], cwd },
  })
  onTestFinished(async () => {
    proxy.close()
    output.resume()
    await proxy.done
  })
  const send = (id: number, method: string, params: object) =>
    input.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
  send(0, 'initialize', { protocolVersion: 1, clientCapabilities: {} })
  send(1, 'session/load', { sessionId, cwd, mcpServers: [] })

  // The client does not read.
  await vi.waitUntil(() => output.writableLength > 256 * 1_024, { timeout: 20_000, interval: 5 })
  for (let i = 0; i < 20; i++) await turn()
  // The replay reads pages of 20 messages, of 200 kB.
  expect(pagesRead).toBeLessThan(5)
  expect(output.writableLength).toBeLessThan(512 * 1_024)

  let shown = 0
  for await (const line of createInterface({ input: output })) {
    const message = JSON.parse(line) as { id?: number; method?: string; result?: unknown }
    if (message.method === 'session/update' && /"\d+ word/.test(line)) shown++
    if (message.id === 1) break
  }
  expect(shown).toBe(length)
})
