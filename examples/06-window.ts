// A conversation outgrows the window of its model. Messages that no longer fit are summarised once. The
// summary is stored in addition to the messages, and none of them is lost.
import { collectPages, openStore, pathOf } from 'skein'
import { createAgent } from 'skein/agent'
import { scripted } from 'skein/models'

const store = await openStore(':memory:')
const agent = createAgent({
  store,
  model: scripted(),
  window: { limit: 1_000 },
  strategy: 'summarization',
})

for (let day = 1; day <= 30; day++) {
  const words = `Day ${day} of the voyage. ${'The sea is calm and the wind comes from the west. '.repeat(3)}`
  for await (const event of agent.send('voyage', words)) {
    if (event.type === 'summary') console.log(`day ${day}: ${event.messages} messages have a summary now`)
  }
}

const { branch, conversation } = (await store.findByKey('voyage'))!
const summaries = await collectPages(page => store.listSummaries(conversation.id, page))
console.log(
  `${(await pathOf(store, branch.head!)).length} messages are stored, and ${summaries.length} summaries.`,
)
console.log(`The newest summary begins: ${summaries.at(-1)!.text.slice(0, 100)}`)
await store.close()
