// A program that the package check bundles, in a project without the optional peers.
import { openStore } from 'skein'
import { createAgent } from 'skein/agent'
import { exactCounter, windowOf } from 'skein/context'
import { scripted } from 'skein/models'

const store = await openStore(':memory:')
const agent = createAgent({ store, model: scripted() })
console.log((await agent.ask('talk', 'My name is Ada.')).text, windowOf('gpt-5').limit > 0)
console.log(await exactCounter().catch(error => error.message))
await store.close()
