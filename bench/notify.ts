import { Client } from 'pg'
import { createDatabase, startPostgres } from '../test/support/postgres.ts'

/** Commits of eight writers, each to its own row, with a NOTIFY in each transaction and without. Prints
 *  commits a second, in alternating runs. */
const writers = 8
const runMs = 2_000
const runs = 5

const server = await startPostgres({ fsync: 'on' })
try {
  const url = await createDatabase(server.url)
  const clients = await Promise.all(Array.from({ length: writers }, () => connect(url)))
  await clients[0]!.query('CREATE TABLE t (writer int PRIMARY KEY, n int NOT NULL)')
  for (let n = 0; n < writers; n++) await clients[0]!.query('INSERT INTO t VALUES ($1, 0)', [n])
  const listener = await connect(url)
  await listener.query('LISTEN changes')
  const ratios: number[] = []
  for (let run = 0; run < runs; run++) {
    const plain = await commitsOf(clients, false)
    const notifying = await commitsOf(clients, true)
    ratios.push(notifying / plain)
    console.log(`without ${plain.toFixed(0)}/s, with NOTIFY ${notifying.toFixed(0)}/s`)
  }
  console.log(`median ratio ${ratios.toSorted((a, b) => a - b)[runs >> 1]!.toFixed(2)}`)
  for (const client of [...clients, listener]) await client.end()
} finally {
  await server.stop()
}

async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url })
  await client.connect()
  return client
}

async function commitsOf(clients: readonly Client[], notifies: boolean): Promise<number> {
  const end = performance.now() + runMs
  let commits = 0
  const write = async (client: Client, writer: number) => {
    while (performance.now() < end) {
      const notify = notifies ? `NOTIFY changes, '${commits}';` : ''
      await client.query(`BEGIN; UPDATE t SET n = n + 1 WHERE writer = ${writer}; ${notify} COMMIT`)
      commits++
    }
  }
  await Promise.all(clients.map(write))
  return commits / (runMs / 1_000)
}
