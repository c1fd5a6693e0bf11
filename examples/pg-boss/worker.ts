// Tasks under another queue: pg-boss decides when and where a job runs, Skein keeps the conversation. A job
// names the task and the number of the dispatch, so a job that is delivered twice is one turn.
//
// This folder has its own dependencies. With a PostgreSQL at DATABASE_URL: npm install && node worker.ts
// `npm run battery -- pg-boss` of the repository checks its types and runs it.

import { PgBoss } from 'pg-boss'
import { openStore } from 'skein'
import { createDispatcher } from 'skein/dispatch'
import { scripted } from 'skein/models'

/** What the queue carries. */
interface AgentJob {
  readonly task: string
  /** The number of the dispatch: the same in every delivery. */
  readonly n: number
}

const url = process.env.DATABASE_URL!
await using store = await openStore(url)
const dispatcher = createDispatcher({ store, tasks: store, agentFor: () => ({ model: scripted() }) })

const boss = new PgBoss(url)
boss.on('error', error => console.error(error.message))
await boss.start()
await boss.createQueue('agents')

await boss.work<AgentJob>('agents', async ([job]) => {
  const { task, n } = job!.data
  const { words } = await store.getDispatch(task, n)
  // If it throws, pg-boss delivers the job again. A dispatch that failed is a result, not an error.
  const result = await dispatcher.run(task, words ?? undefined, { n, worker: `pg-boss ${job!.id}` })
  console.log(`#${n}: ${result?.response}`)
})

/** Sends a job and waits until it has been done. */
async function deliver(data: AgentJob): Promise<void> {
  const id = await boss.send('agents', data)
  while ((await boss.findJobs('agents', { id: id! }))[0]?.state !== 'completed')
    await new Promise(resolve => setTimeout(resolve, 100))
}

const { id: task } = await store.submitTask({ project: 'web', description: 'My name is Ada.' })
await deliver({ task, n: 1 })
const { n } = await store.dispatchTask(task, { words: 'What is my name?' })
await deliver({ task, n })
// The same delivery again: the stored result, and no second turn.
await deliver({ task, n })

const { conversation } = (await store.findByTask(task, 'web'))!
console.log(`${conversation.messages} messages`)
await boss.stop()
