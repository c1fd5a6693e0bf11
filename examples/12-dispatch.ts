// One conversation per work item: three dispatches of one task, two of them with the same words, by different
// workers. Then the conversation expires, and the next dispatch starts a new one.

import { openStore, pathOf, textOf } from 'skein'
import { createDispatcher, createWorker } from 'skein/dispatch'
import { scripted } from 'skein/models'

const clock = { now: Date.now() }
await using store = await openStore(':memory:', {
  source: { now: () => clock.now, uuid: () => crypto.randomUUID() },
})

// An investigator who knows what was found before, because it is in the messages.
const model = scripted({
  script: ({ messages }) => {
    const findings = messages.filter(({ role }) => role === 'assistant').length
    return ['The heap grows by 2 MB an hour.', 'It is the cache.', 'A listener is never removed.'][findings]!
  },
})
const agentFor = () => ({ id: 'investigator', model, system: 'You find memory leaks.' })

const { id } = await store.submitTask({
  project: 'gateway',
  description: 'Investigate memory leak',
  context: 'Since Monday, in production.',
})
await createWorker({ store, tasks: store, agentFor, untilIdle: true, name: 'worker-1' }).ended
const dispatcher = createDispatcher({ store, tasks: store, agentFor })
for (const worker of ['worker-2', 'worker-3']) {
  const result = await dispatcher.run(id, 'Continue investigation', { worker })
  console.log(`${result?.worker_id}: ${result?.response}`)
}
// worker-2: It is the cache.
// worker-3: A listener is never removed.

const { conversation, branch } = (await store.findByTask(id, 'gateway'))!
for (const message of await pathOf(store, branch.head!)) console.log(`${message.role}: ${textOf(message)}`)
console.log(`${conversation.messages} messages, ${conversation.tokensUsed > 0 ? 'tokens counted' : ''}`)

// A day later the conversation has expired. The old one stays readable.
clock.now += 25 * 3_600_000
const later = await dispatcher.run(id, 'Continue investigation')
console.log(later?.conversation_id === conversation.id, (await store.getTask(id)).dispatches) // false 4
if (later?.conversation_id === conversation.id) throw new Error('the conversation should have expired')
