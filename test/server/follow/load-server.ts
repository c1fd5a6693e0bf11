import { createHash } from 'node:crypto'
import { createInterface } from 'node:readline'
import { createService, listen } from '../../../src/server/index.ts'
import { openStore } from '../../../src/stores/open.ts'
import type { LoadMemory } from './follow-load.ts'

/** A server process of `follow-load.ts`, on the store at its argument. It prints its port. For each line on
 *  its standard input it collects garbage and prints its memory; when the input ends, so does the process. */

/** The token of the clients. */
export const loadToken = 'skein_follow_load'

type CollectAll = (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void

if (process.argv[1] === import.meta.filename) {
  const store = await openStore(process.argv[2]!)
  const hash = createHash('sha256').update(loadToken).digest('hex')
  if ((await store.findToken(hash)) === null)
    await store.addToken({ hash, name: 'load', scopes: ['read', 'write', 'admin'] })
  const service = createService({ storeOf: async () => store, tokens: store })
  console.log((await listen(service, { port: 0 })).port)
  const { gc } = globalThis as unknown as { gc: CollectAll }
  for await (const _ of createInterface({ input: process.stdin })) {
    gc({ type: 'major', execution: 'sync', flavor: 'last-resort' })
    const { rss, heapUsed, external } = process.memoryUsage()
    console.log(JSON.stringify({ resident: rss, heap: heapUsed + external } satisfies LoadMemory))
  }
  process.exit()
}
