// An agent calls another one. The subagent's run is a separate conversation, linked to the calling message.
import { openStore, pathOf, textOf } from 'skein'
import { createAgent, subagent } from 'skein/agent'
import { scripted } from 'skein/models'

const store = await openStore(':memory:')
const reader = subagent({
  name: 'reader',
  description: 'Reads long texts and tells what is in them',
  model: scripted({ script: [{ text: 'It is about a whale.' }] }),
  store,
})
const script = [
  { calls: [{ name: 'reader', input: { task: 'What is Moby Dick about?' } }] },
  { text: 'I had it read for me: it is about a whale.' },
]
const agent = createAgent({ store, model: scripted({ script }), tools: { reader } })

const { text, usage } = await agent.ask('books', 'What is Moby Dick about?')
console.log(`${text} (${usage.input} tokens in, ${usage.output} out, the subagent's included)`)

const { conversation } = (await store.findByKey('books'))!
const { items } = await store.listConversations({ parent: conversation.id })
for (const trace of items) {
  console.log(`\n${trace.label}, asked by message ${trace.parent!.messageId}`)
  for (const message of await pathOf(store, trace.branch.head!))
    console.log(`  ${message.role}: ${textOf(message)}`)
}
await store.close()
