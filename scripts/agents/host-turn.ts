import { createHost } from '../../src/acp/host/host.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'

/** A program with a host that sends one prompt and then waits until it is killed:
 *  `host-turn.ts <store> <conversation> <words> <agent command…>`. Prints the agent's output as it
 *  arrives, and a line at the end. */
const [file, key, words, command, ...args] = process.argv.slice(2)
const store = await openSqliteStore(file!)
const host = createHost({ store, command: { command: command!, args } })
for await (const event of host.send(key!, words!)) {
  if (event.type === 'text') process.stdout.write(event.text)
  if (event.type === 'memory') process.stderr.write(`memory: ${event.outcome}\n`)
}
process.stdout.write('\nended\n')
setInterval(() => undefined, 60_000)
