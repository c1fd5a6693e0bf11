/** One of several processes that write to the same conversation at the same time.
 *
 *  node race.ts <store> <name> <how> <count>
 *
 *  `append`   retries an append whose head has moved
 *  `ask`      asks an agent, and waits while another process is answered
 *  `same`     sends requests that every process sends, with the same keys
 *  `careless` ignores the other processes, for the control */
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { ConflictError, type NewMessage, openStore, textOf } from 'skein'
import { createAgent } from 'skein/agent'
import { scripted } from 'skein/models'

const [target = '', name = '', how = 'ask', count = '1'] = process.argv.slice(2)
const store = await openStore(target)
const model = scripted({
  script: ({ messages }) => ({ text: `answer to ${textOf(messages.at(-1)!)}`, delayMs: 1 }),
})
const agent = createAgent({ store, model })

async function append(messages: readonly [NewMessage, ...NewMessage[]]): Promise<void> {
  const { branch } = await store.findOrCreate(how)
  for (let head = branch.head; ; ) {
    try {
      await store.append(branch, head, messages)
      return
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error
      head = error.actual
    }
  }
}

console.log('ready')
await once(process.stdin, 'data')
for (let n = 0; n < Number(count); n++) {
  const asked = how === 'same' ? `question ${n}` : `question ${n} of ${name}`
  const question = { role: 'user', content: asked } as const
  const answer = { role: 'assistant', content: `answer to ${asked}` } as const
  if (how === 'ask') await agent.ask(how, asked)
  else if (how === 'same') await agent.ask(how, asked, { key: `request ${n}` })
  else if (how === 'append') await append([question, answer])
  else {
    await append([question])
    await pause(50)
    await append([answer])
  }
}
await store.close()
process.stdin.destroy()
