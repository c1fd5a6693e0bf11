// A durable agent in ten lines. Run it twice: the second run remembers the first.
import { openStore } from 'skein'
import { createAgent } from 'skein/agent'
import { scripted } from 'skein/models'

const store = await openStore('.skein/example.db')
const agent = createAgent({ store, model: scripted() })
for (const words of [`It is ${new Date().toISOString()}.`, 'What did I say first?']) {
  console.log(`you:   ${words}`)
  console.log(`agent: ${(await agent.ask('example:agent', words)).text}`)
}
await store.close()
