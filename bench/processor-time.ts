import { existsSync, readFileSync } from 'node:fs'
import { Client } from 'pg'

/** The processor time of this process and of the server, which other work on the machine disturbs little. */
export interface ProcessorTime extends AsyncDisposable {
  /** Microseconds so far, of this process and of all connections to the databases. */
  read(): Promise<number>
}

/** Null if the server is on another machine, or if this one is not a Linux. */
export async function processorTimeOf(urls: readonly string[]): Promise<ProcessorTime | null> {
  const client = new Client({ connectionString: urls[0]! })
  await client.connect()
  const names = urls.map(url => decodeURIComponent(new URL(url).pathname.slice(1)))
  const own = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  if (!existsSync(schedulerFile(own.rows[0]!.pid))) {
    await client.end()
    return null
  }
  return {
    async read() {
      const { rows } = await client.query<{ pid: number }>(
        'SELECT pid FROM pg_stat_activity WHERE datname = ANY($1) AND pid <> pg_backend_pid()',
        [names],
      )
      const { user, system } = process.cpuUsage()
      return rows.reduce((sum, { pid }) => sum + timeOfProcess(pid), user + system)
    },
    [Symbol.asyncDispose]: () => client.end(),
  }
}

const schedulerFile = (pid: number) => `/proc/${pid}/schedstat`

/** A connection may have ended meanwhile. */
function timeOfProcess(pid: number): number {
  try {
    return Number(readFileSync(schedulerFile(pid), 'utf8').split(' ')[0]) / 1_000
  } catch {
    return 0
  }
}
