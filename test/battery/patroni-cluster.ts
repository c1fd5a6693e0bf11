import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import { makePlace } from '../support/postgres.ts'
import { haproxyFor, type NodePlace, patroniFor, patroniOfPage } from './cluster-files.ts'
import { type Gateway, startGateway } from './gateway.ts'
import { killIn, pidsIn, signalIn, signalTo } from './process-folder.ts'

/** A real cluster on loopback: three nodes of Patroni and PostgreSQL, three members of etcd, HAProxy. */
export interface PatroniCluster {
  /** The URL of a new, empty database, through HAProxy. */
  createDatabase(name: string): Promise<string>
  /** Waits until a node is the primary, and another one than `former` if it is given. */
  leader(former?: ClusterNode): Promise<ClusterNode>
  /** Waits until all nodes run and agree about the primary and, unless replication is asynchronous, about the
   *  synchronous standby. */
  healthy(): Promise<void>
  readonly nodes: readonly ClusterNode[]
  /** Stops (SIGSTOP) all members of etcd, or lets them continue. */
  freezeEtcd(): void
  thawEtcd(): void
  /** Asks Patroni for a planned switchover. */
  switchOver(): Promise<void>
  /** Turns synchronous replication off, for the negative control. */
  makeAsynchronous(): Promise<void>
  /** The last lines of each log. */
  logs(): string
  stop(): Promise<void>
}

/** One database server. */
export interface ClusterNode {
  readonly name: string
  /** Kills Patroni and PostgreSQL, as if the machine were gone. */
  kill(): Promise<void>
  /** Kills PostgreSQL's main process only. */
  killPostgres(): void
  start(): void
  freeze(part: 'all' | 'patroni'): void
  thaw(): void
  /** The processes that receive the primary's log. */
  receivers(): readonly number[]
  /** Its way to etcd. */
  readonly etcd: Gateway
}

interface Member {
  readonly name: string
  readonly role: string
  readonly state: string
}

const packages = ['patroni', 'etcd-server', 'haproxy', 'postgresql-15']
const programs = [
  '/usr/bin/patroni',
  '/usr/bin/etcd',
  '/usr/sbin/haproxy',
  '/usr/lib/postgresql/15/bin/initdb',
]

/** The reason why there can be no cluster on this machine, or null. Installs Debian's packages if this is
 *  root and they are missing. */
export function whyNoCluster(): string | null {
  if (process.getuid?.() !== 0) return 'not root'
  if (programs.every(path => existsSync(path))) return null
  if (!existsSync('/usr/bin/apt-get')) return `no apt-get, and not installed: ${packages.join(', ')}`
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  try {
    const args = ['install', '-y', '--no-upgrade', '--no-install-recommends', ...packages]
    execFileSync('apt-get', args, { env, stdio: 'pipe', timeout: 600_000 })
  } catch (error) {
    return `apt-get install ${packages.join(' ')} failed: ${String(error).split('\n')[0]}`
  }
  return programs.every(path => existsSync(path)) ? null : 'the packages are not those of Debian 12'
}

/** How long the cluster may take to become healthy. */
const patienceMs = 180_000

/** How long it must be healthy. Patroni looks every 5 s. */
const steadyMs = 7_000

const { password } = patroniOfPage().postgresql.authentication.superuser

/** Starts everything in a temporary folder. A process of its own removes it, whatever happens to this one. */
export async function startCluster(): Promise<PatroniCluster> {
  const folder = makePlace()
  const guard = spawn(process.execPath, [join(import.meta.dirname, 'process-folder.ts'), folder], {
    stdio: ['pipe', 'inherit', 'inherit'],
    detached: true,
    cwd: '/',
  })
  const guardEnded = once(guard, 'exit')
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
  const identity = { uid: id('-u'), gid: id('-g') }
  const ports = await freePorts(13)
  const take = () => ports.pop()!
  const gateways: Gateway[] = []

  const etcds = ['etcd1', 'etcd2', 'etcd3'].map(name => ({ name, client: take(), peer: take() }))
  for (const { name, client, peer } of etcds) startEtcd(name, client, peer)
  const nodes: (ClusterNode & NodePlace)[] = []
  for (const [i, { client }] of etcds.entries()) {
    const gateway = await startGateway(client)
    gateways.push(gateway)
    const name = `node${i + 1}`
    nodes.push(
      makeNode(
        { name, folder: own(name), sqlPort: take(), restPort: take(), etcdPort: gateway.port },
        gateway,
      ),
    )
  }
  await until('members of etcd', async () => {
    const answers = etcds.map(async ({ client }) =>
      (await fetch(`http://127.0.0.1:${client}/version`)).text(),
    )
    return !(await Promise.all(answers)).some(text => text.includes('not_decided'))
  })
  for (const node of nodes) node.start()
  const proxyPort = take()
  const proxyFolder = own('haproxy')
  writeFileSync(join(proxyFolder, 'haproxy.cfg'), haproxyFor(proxyPort, nodes))
  run('haproxy', '/usr/sbin/haproxy', ['-db', '-f', join(proxyFolder, 'haproxy.cfg')])
  let synchronous = true

  const cluster: PatroniCluster = {
    nodes,
    async createDatabase(name) {
      const admin = `postgres://postgres:${password}@127.0.0.1:${proxyPort}`
      await query(`${admin}/postgres`, `create database ${name}`)
      return `${admin}/${name}`
    },
    leader,
    healthy,
    freezeEtcd: () => signalEtcd('SIGSTOP'),
    thawEtcd: () => signalEtcd('SIGCONT'),
    async switchOver() {
      const from = await leader()
      const { restPort, name } = nodes.find(node => node.name === from.name)!
      const answer = await fetch(`http://127.0.0.1:${restPort}/switchover`, {
        method: 'POST',
        body: JSON.stringify({ leader: name }),
      })
      if (!answer.ok) throw new Error(`switchover: ${answer.status} ${await answer.text()}`)
    },
    async makeAsynchronous() {
      const { restPort } = nodes[0]!
      const replication = { synchronous_mode: false, synchronous_mode_strict: false }
      // A fast machine writes more than the usual megabyte while its standbys receive nothing. Without this,
      // none of them would become the primary.
      const body = JSON.stringify({ ...replication, maximum_lag_on_failover: 1_073_741_824 })
      const answer = await fetch(`http://127.0.0.1:${restPort}/config`, { method: 'PATCH', body })
      if (!answer.ok) throw new Error(`config: ${answer.status} ${await answer.text()}`)
      synchronous = false
      await until('asynchronous replication', async () => {
        const url = `postgres://postgres:${password}@127.0.0.1:${proxyPort}/postgres`
        const [row] = await query(url, 'show synchronous_standby_names')
        return row?.synchronous_standby_names === ''
      })
      await healthy()
    },
    logs: () => [...nodes, ...etcds, { name: 'haproxy' }].map(({ name }) => lastLines(name)).join('\n'),
    async stop() {
      for (const gateway of gateways) await gateway.close()
      guard.stdin!.end()
      await guardEnded
    },
  }
  try {
    await healthy()
  } catch (error) {
    const why = new Error(`the cluster did not start:\n${cluster.logs()}`, { cause: error })
    await cluster.stop()
    throw why
  }
  return cluster

  function own(name: string): string {
    const path = join(folder, name)
    mkdirSync(path)
    chmodSync(path, 0o700)
    chownSync(path, identity.uid, identity.gid)
    return path
  }

  /** Starts a program as `postgres` in its folder, with its output in a file. */
  function run(name: string, program: string, args: readonly string[]): ChildProcess {
    const log = openSync(join(folder, `${name}.log`), 'a')
    const env = { PATH: '/usr/bin:/bin:/usr/sbin:/sbin', LC_ALL: 'C.UTF-8', HOME: join(folder, name) }
    const options = { cwd: join(folder, name), env, ...identity, detached: true }
    return spawn(program, args, { ...options, stdio: ['ignore', log, log] })
  }

  function signalEtcd(signal: NodeJS.Signals): void {
    for (const { name } of etcds) signalIn(join(folder, name), signal)
  }

  function startEtcd(name: string, client: number, peer: number): void {
    const url = (port: number) => `http://127.0.0.1:${port}`
    const all = etcds.map(one => `${one.name}=${url(one.peer)}`).join(',')
    run(name, '/usr/bin/etcd', [
      ...['--name', name, '--data-dir', join(own(name), 'data')],
      ...['--listen-client-urls', url(client), '--advertise-client-urls', url(client)],
      ...['--listen-peer-urls', url(peer), '--initial-advertise-peer-urls', url(peer)],
      ...['--initial-cluster', all, '--initial-cluster-token', 'skein'],
      '--enable-v2',
    ])
  }

  function makeNode(place: NodePlace, etcd: Gateway): ClusterNode & NodePlace {
    const { name, folder } = place
    const file = join(folder, 'patroni.yml')
    writeFileSync(file, patroniFor(place))
    let patroni: ChildProcess | undefined
    const pidFile = join(folder, 'data', 'postmaster.pid')
    const receivers = () => pidsIn(folder).filter(pid => /walreceiver/.test(commandOf(pid)))
    return {
      ...place,
      etcd,
      receivers,
      kill: () => killIn(folder),
      killPostgres: () => signalTo(Number(readFileSync(pidFile, 'utf8').split('\n')[0]), 'SIGKILL'),
      start() {
        patroni = run(name, '/usr/bin/patroni', [file])
      },
      freeze(part) {
        if (part === 'all') signalIn(folder, 'SIGSTOP')
        else signalTo(patroni!.pid!, 'SIGSTOP')
      },
      thaw: () => signalIn(folder, 'SIGCONT'),
    }
  }

  async function leader(former?: ClusterNode): Promise<ClusterNode> {
    let found: ClusterNode | undefined
    await until('primary', async () => {
      const answers = await Promise.all(nodes.map(({ restPort }) => ask(restPort, 'primary')))
      found = nodes.find((node, i) => answers[i]?.ok && node.name !== former?.name)
      return found !== undefined
    })
    return found!
  }

  async function healthy(): Promise<void> {
    const wanted = ['leader', 'replica', synchronous ? 'sync_standby' : 'replica']
    let since = Number.POSITIVE_INFINITY
    await until('healthy cluster', async () => {
      const isGood = await agree().catch(() => false)
      since = isGood ? Math.min(since, Date.now()) : Number.POSITIVE_INFINITY
      // A node that is about to start again still reports that it runs.
      return Date.now() - since > steadyMs
    })

    async function agree(): Promise<boolean> {
      const views = nodes.map(async ({ restPort }) => {
        const { members } = (await (await ask(restPort, 'cluster'))!.json()) as { members: Member[] }
        return members.every(isRunning) && `${members.map(({ role }) => role).sort()}` === `${wanted}`
      })
      return (await Promise.all(views)).every(isGood => isGood)
    }
  }

  function lastLines(name: string): string {
    const lines = readFileSync(join(folder, `${name}.log`), 'utf8').split('\n')
    const events = lines.filter(line => /^(\S*20\d\d|\[)/.test(line)) // without the traces of Python
    return `--- ${name}\n${events.slice(-25).join('\n')}`
  }
}

/** A page of a node's REST interface, or null if it does not answer. */
function ask(restPort: number, page: string): Promise<Response | null> {
  const signal = AbortSignal.timeout(2_000)
  return fetch(`http://127.0.0.1:${restPort}/${page}`, { signal }).catch(() => null)
}

function isRunning({ state }: Member): boolean {
  return state === 'running' || state === 'streaming'
}

async function until(what: string, isTrue: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + patienceMs
  while (!(await isTrue().catch(() => false))) {
    if (Date.now() > end) throw new Error(`no ${what} within ${patienceMs / 1_000} s`)
    await pause(250)
  }
}

async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}

/** Ports that are free now. All are held at once, so that they differ. */
async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer()
      await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
      return server
    }),
  )
  const ports = servers.map(server => (server.address() as { port: number }).port)
  await Promise.all(servers.map(server => new Promise(resolve => server.close(resolve))))
  return ports
}
