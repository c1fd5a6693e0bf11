import { existsSync, readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { Pool } from 'pg'
import { postgresStore } from '../src/stores/postgres/index.ts'
import { createDatabase } from '../test/support/postgres.ts'
import { makeFloorTables, openPostgresFloor } from './floor-postgres.ts'
import { oursOver } from './ours-postgres.ts'
import { makeTurn, workId } from './workload.ts'

/** Counts the instructions of the server per call, which do not depend on other work on the machine. The
 *  server runs under valgrind, as any user but root, with autovacuum off:
 *
 *  valgrind --tool=callgrind --callgrind-out-file=/tmp/cg.%p postgres -D <data> -c autovacuum=off
 *  node bench/instructions.ts postgresql://<user>@<host>/postgres /tmp/cg append
 *
 *  Each connection is a process with a file of its own. A run with calls and one without are compared, so
 *  that the tables, the plans and the first messages do not count. `callgrind_annotate` shows the
 *  functions. */

const [url, files, work = 'append'] = process.argv.slice(2)
if (!url || !files || !['append', 'tail'].includes(work)) {
  console.error('usage: node bench/instructions.ts <url> <path of the files without the pid> [append|tail]')
  process.exit(2)
}

const conversations = 8
const calls = 64

/** The instructions of a connection that fills the tables and then makes so many calls. */
async function instructionsOf(name: 'floor' | 'ours', count: number): Promise<number> {
  const database = await createDatabase(url!)
  if (name === 'floor') await makeFloorTables(database)
  const pool = new Pool({ connectionString: database, max: 1, min: 1 })
  const contender =
    name === 'floor'
      ? await openPostgresFloor(pool)
      : oursOver(await postgresStore(pool, { indexing: 'manual' }))
  const { rows } = await pool.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  const heads: (string | null)[] = []
  let turns = 0
  const append = async (i: number) => {
    heads[i] = await contender.append(workId(i), heads[i] ?? null, makeTurn(turns++))
  }
  const tail = (i: number) => contender.tail(workId(i), heads[i]!, 40)
  for (let i = 0; i < conversations; i++) {
    await contender.create(workId(i), 'a conversation')
    for (let n = 0; n < 12; n++) await append(i)
    await tail(i)
  }
  for (let n = 0; n < count; n++) await (work === 'append' ? append : tail)(n % conversations)
  await pool.end()
  return totalIn(`${files}.${rows[0]!.pid}`)
}

/** The server writes the file when the connection ends. */
async function totalIn(file: string): Promise<number> {
  for (;;) {
    const total = existsSync(file) && /^(?:totals|summary): (\d+)/m.exec(readFileSync(file, 'utf8'))
    if (total) return Number(total[1])
    await pause(100)
  }
}

for (const name of ['floor', 'ours'] as const) {
  const without = await instructionsOf(name, 0)
  const each = ((await instructionsOf(name, calls)) - without) / calls
  console.log(`${work}, ${name}: ${Math.round(each / 1_000).toLocaleString('en')},000 instructions`)
}
