import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, rmSync, writeFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { makePlace } from './postgres.ts'

/** It refuses to run as root. */
const unprivileged = 'nobody'

/** The program, or undefined if the machine has none. */
export const pgbouncer: string | undefined = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer'].find(existsSync)

/** A running PgBouncer in transaction mode, on a Unix socket in a folder of its own. */
export interface Pooler extends AsyncDisposable {
  /** The same database through the pooler. */
  through(url: string): string
}

/** Starts PgBouncer in front of the server of `url`, with few connections, so that clients share them. */
export async function startPgbouncer(url: string, connections = 3): Promise<Pooler> {
  const place = makePlace()
  chmodSync(place, 0o777)
  const file = join(place, 'pgbouncer.ini')
  writeFileSync(file, settings(new URL(url), place, connections))
  const asRoot = process.getuid?.() === 0 ? ['-u', unprivileged] : []
  const child = spawn(pgbouncer!, [...asRoot, file], { stdio: ['ignore', 'ignore', 'pipe'] })
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text
  })
  const ended = once(child, 'close')
  const stop = async () => {
    child.kill('SIGQUIT')
    await ended
    rmSync(place, { recursive: true, force: true })
  }
  while (!(await listens(join(place, '.s.PGSQL.6432')))) {
    if (child.exitCode !== null) throw new Error(`pgbouncer ended:\n${log}`)
    await pause(10)
  }
  return {
    through(target) {
      const { username, pathname } = new URL(target)
      return `postgresql://${username}@localhost:6432${pathname}?host=${encodeURI(place)}`
    },
    [Symbol.asyncDispose]: stop,
  }
}

function settings({ username, password, hostname, port, searchParams }: URL, place: string, most: number) {
  const host = searchParams.get('host') ?? hostname
  const login = `user=${username}${password ? ` password=${decodeURIComponent(password)}` : ''}`
  return `[databases]
* = host=${host} port=${port || 5432} ${login}
[pgbouncer]
listen_addr =
listen_port = 6432
unix_socket_dir = ${place}
auth_type = any
pool_mode = transaction
default_pool_size = ${most}
max_client_conn = 500
`
}

/** Whether something accepts connections at the socket. */
async function listens(path: string): Promise<boolean> {
  const socket = createConnection(path)
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
