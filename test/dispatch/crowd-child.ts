import { createWorker } from '../../src/dispatch/index.ts'
import { openStore } from '../../src/index.ts'
import { scripted } from '../../src/models/scripted.ts'

/** Four workers in a process of their own, until the parent leaves or kills it. */
const store = await openStore(process.argv[2]!)
const worker = createWorker({
  ...{ store, tasks: store, workers: 4, pollMs: 20, reclaimMs: 200, name: `crowd-${process.pid}` },
  agentFor: () => ({ model: scripted({ script: () => ({ text: 'Found the cause.', delayMs: 2 }) }) }),
})
process.on('disconnect', () => process.exit())
process.send!('ready')
await worker.ended
