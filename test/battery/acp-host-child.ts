import { createHost } from '../../src/acp/host/host.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'

/** Sends one prompt to an agent through a host, reports each event, and waits until it is killed or its input
 *  ends. */
const [file, key, words, command, ...args] = process.argv.slice(2) as [string, string, string, string]
const store = await openSqliteStore(file)
const host = createHost({ store, command: { command, args } })
process.stdin.on('end', async () => {
  await host.close()
  await store.close()
})
process.stdin.resume()
console.log('open')
for await (const event of host.send(key, words)) console.log(event.type)
