import { appendFileSync } from 'node:fs'
import { z } from 'zod'
import { createAgent } from '../../src/agent/agent.ts'
import { tool } from '../../src/agent/tools/tool.ts'
import { scripted } from '../../src/models/scripted.ts'
import { openStore } from '../../src/stores/open.ts'

/** A process that asks an agent, or resumes its turn. It reports where it is, and hangs at a point until it
 *  is killed: `asking` (a person is being asked), `running` (in the tool), `stored` (the result is stored,
 *  and the model is called). */
const [target, log, action, hangsAt] = process.argv.slice(2)
const hang = () => new Promise<never>(() => setInterval(() => undefined, 60_000))
const reach = async (point: string) => {
  process.send?.(point)
  if (point === hangsAt) await hang()
}

const deploy = tool({
  description: 'Deploys',
  input: z.object({}),
  needsApproval: true,
  async run() {
    appendFileSync(log!, 'ran\n')
    await reach('running')
    return 'deployed'
  },
})
const store = await openStore(target!)
const model = scripted({
  script: ({ messages }) => {
    if (messages.at(-1)!.role === 'user') return { calls: [{ name: 'deploy', id: 'c1', input: {} }] }
    return hangsAt === 'stored' ? { text: 'done', gate: () => reach('stored') } : 'done'
  },
})
const agent = createAgent({
  store,
  model,
  tools: { deploy },
  ...(hangsAt === 'asking' && {
    approve: async () => {
      await reach('asking')
      return 'deny' as const
    },
  }),
})
const reply = action === 'ask' ? await agent.ask('k', 'go') : await agent.resume('k').result()
process.send?.(`${reply.status} ${reply.stop}`)
await agent.close()
await store.close()
process.disconnect?.()
