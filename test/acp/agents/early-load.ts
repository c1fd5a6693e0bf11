import { setTimeout as wait } from 'node:timers/promises'
import type { AgentContext } from '@agentclientprotocol/sdk/unstable'
import { createAgent } from './kit.ts'
import { onDisk, type Remembered } from './memory.ts'

/** Stores its sessions on disk, and answers a load in the middle of the replay: the rest follows in
 *  chunks. */
const kit = createAgent({ name: 'early-load', memory: onDisk(), capabilities: { loadSession: true } })

async function replay(known: Remembered, client: AgentContext, from: number, to?: number): Promise<void> {
  for (const update of kit.replayOf(known).slice(from, to)) {
    if (from > 0) await wait(15)
    await client.notify('session/update', { sessionId: known.sessionId, update })
  }
}

kit.app.onRequest('session/load', async ({ params, client }) => {
  const known = kit.takeUp(params.sessionId)
  await replay(known, client, 0, 1)
  setImmediate(() => replay(known, client, 1).catch(() => process.exit(1)))
  return {}
})
kit.run()
