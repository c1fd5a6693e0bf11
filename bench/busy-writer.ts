import { openStore } from '../src/stores/open.ts'
import { makeTurn } from './workload.ts'

/** Writes into a store without a pause until it is killed: `node busy-writer.ts <file>`. Prints a line after
 *  its first write. */

const store = await openStore(process.argv[2]!)
const { branch } = await store.create({ directory: '/elsewhere', title: 'Busy' })
let head: Parameters<typeof store.append>[1] = null
for (let turn = 0; ; turn++) {
  const { key, messages } = makeTurn(turn)
  ;({ head } = await store.append(branch, head, messages, { turn: { key, step: 0 } }))
  if (turn === 0) console.log('writing')
  // Yields to the event loop, so that a signal is handled.
  await new Promise(resolve => setImmediate(resolve))
}
