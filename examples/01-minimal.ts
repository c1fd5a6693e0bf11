// Store two messages, close the store as if the process had ended, and continue the conversation.
import { openStore, pathOf, textOf } from 'skein'

const file = '.skein/example.db'
let store = await openStore(file)
let { branch } = await store.findOrCreate('example:talk')
await store.append(branch, branch.head, [
  { role: 'user', content: `Hello, it is ${new Date().toISOString()}.` },
  { role: 'assistant', content: 'Noted.' },
])
await store.close()

store = await openStore(file)
branch = (await store.findOrCreate('example:talk')).branch
for (const message of await pathOf(store, branch.head!)) console.log(`${message.role}: ${textOf(message)}`)
await store.close()

console.log(`\nEverything was read back from ${file}. Run it again: the conversation continues.`)
