import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { textOf } from '../../src/core/message.ts'
import { collectPages } from '../../src/core/pages.ts'
import { pathOf } from '../../src/core/path.ts'
import type { Store } from '../../src/core/ports.ts'
import { openPostgresStore } from '../../src/stores/postgres/index.ts'
import { haproxyFor, patroniFor, patroniOfPage } from './cluster-files.ts'
import { type FailoverWriters, startWriters } from './failover-writers.ts'
import { note } from './note.ts'
import { type ClusterNode, type PatroniCluster, startCluster, whyNoCluster } from './patroni-cluster.ts'
import { signalTo } from './process-folder.ts'
import { isFull } from './size.ts'
import { turnLength, words } from './writer.ts'

/** A cluster of `docs/postgres-failover.md` is broken in eight ways while four writers append turns. In the
 *  gate only its files are read. */
const timeout = 900_000

/** The longest time from the moment when a new primary was possible. */
const mostOutageMs = 35_000

/** How long etcd is away. It is longer than the time until the primary gives up its place. */
const etcdAwayMs = 40_000

/** What breaks, and how it is mended after the writers are back. */
interface Breakage {
  /** The primary before it. */
  readonly former: ClusterNode
  /** The time from which the outage counts. Default: when it broke. */
  readonly from?: number
  /** Whether another node has to become the primary. */
  readonly moves: boolean
  mend?(): void
}

type Event = (cluster: PatroniCluster, former: ClusterNode) => Promise<Breakage>

/** The machine of the primary is gone. */
const killMachine: Event = async (_, former) => {
  await former.kill()
  return { former, moves: true, mend: () => former.start() }
}

/** PostgreSQL crashes. Patroni may start it again as the primary: commits that no standby has confirmed are
 *  then visible. */
const killPostgres: Event = async (_, former) => {
  former.killPostgres()
  return { former, moves: false }
}

/** The machine of the primary stops for longer than the lease of its lock, and continues. */
const freezeMachine: Event = async (_, former) => {
  former.freeze('all')
  return { former, moves: true, mend: () => former.thaw() }
}

/** Only Patroni stops: for a while two servers accept writes. */
const freezePatroni: Event = async (_, former) => {
  former.freeze('patroni')
  return { former, moves: true, mend: () => former.thaw() }
}

const switchOver: Event = async (cluster, former) => {
  await cluster.switchOver()
  return { former, moves: true }
}

const loseEtcd: Event = async (cluster, former) => {
  cluster.freezeEtcd()
  await pause(etcdAwayMs) // not a wait for an event: the time that etcd is away
  cluster.thawEtcd()
  return { former, from: Date.now(), moves: false }
}

const cutOffEtcd: Event = async (_, former) => {
  former.etcd.cut()
  return { former, moves: true, mend: () => former.etcd.mend() }
}

/** The standbys stop receiving, and the primary dies with everything that it has sent. */
const stallAndKill: Event = async (cluster, former) => {
  const receivers = cluster.nodes.flatMap(node => node.receivers())
  for (const pid of receivers) signalTo(pid, 'SIGSTOP')
  await pause(3_000) // not a wait for an event: the time in which unconfirmed turns could be acknowledged
  await former.kill()
  // The bytes in the buffers of the kernel are lost with the process.
  for (const pid of receivers) signalTo(pid, 'SIGKILL')
  return { former, moves: true, mend: () => former.start() }
}

const events: readonly (readonly [string, Event])[] = [
  ['a planned switchover', switchOver],
  ['kill -9 of the machine of the primary', killMachine],
  ['kill -9 of PostgreSQL alone', killPostgres],
  ['a freeze of the machine of the primary', freezeMachine],
  ['a freeze of Patroni alone', freezePatroni],
  ['standbys that stop receiving, and kill -9 of the primary', stallAndKill],
  ['a partition between the primary and etcd', cutOffEtcd],
  ['loss of etcd', loseEtcd],
]

/** What is wrong with the stored turns. */
interface Faults {
  lost: number
  partial: number
  duplicate: number
  damaged: number
}

/** Compares the store with the acknowledgements, while the writers continue. */
async function faultsIn(url: string, writing: FailoverWriters): Promise<Faults> {
  const faults: Faults = { lost: 0, partial: 0, duplicate: 0, damaged: 0 }
  const told = writing.acknowledged()
  const store = await openPostgresStore(url)
  for (const [writer, acknowledged] of told) {
    const { turns, partial, duplicate } = await turnsOf(store, writer)
    faults.lost += Math.max(0, acknowledged - turns)
    faults.partial += partial
    faults.duplicate += duplicate
  }
  const { findings } = await store.verify()
  faults.damaged = Object.values(findings).reduce((a, b) => a + b)
  await store.close()
  return faults
}

/** The stored turns of a writer, from the first without a gap. */
async function turnsOf(store: Store, writer: string) {
  const { branch, conversation } = (await store.findByKey(writer))!
  const said = (await pathOf(store, branch.head!)).map(textOf)
  const isExpected = (text: string, i: number) =>
    text === words(writer, Math.floor(i / turnLength), i % turnLength)
  const wrong = said.findIndex((text, i) => !isExpected(text, i))
  const keys = (await collectPages(page => store.listTurns(conversation.id, page))).map(turn => turn.key)
  return {
    turns: Math.floor((wrong < 0 ? said.length : wrong) / turnLength),
    partial: said.length % turnLength === 0 ? 0 : 1,
    duplicate: said.length - new Set(said).size + (keys.length - new Set(keys).size),
  }
}

const missing = isFull ? whyNoCluster() : null
if (missing !== null) console.log(`failover: not run: ${missing}`)

if (isFull) describe.skipIf(missing !== null)('a cluster with synchronous, strict replication', breakCluster)

function breakCluster(): void {
  let cluster: PatroniCluster
  let url: string
  let writing: FailoverWriters

  beforeAll(async () => {
    cluster = await startCluster()
    url = await cluster.createDatabase('strict')
    writing = startWriters(url)
    await writing.progress(10)
  }, timeout)
  afterAll(async () => {
    writing?.kill()
    await cluster?.stop()
  }, timeout)

  it.each(events)('loses no acknowledged turn in %s (R22)', { timeout }, async (_, event) => {
    onTestFinished(({ task }) => {
      if (task.result?.state === 'fail') console.log(cluster.logs())
    })
    await writing.progress(10)
    const former = await cluster.leader()
    const errorsBefore = new Map(writing.errors)
    const broken = Date.now()
    const { from = broken, moves, mend } = await event(cluster, former)
    if (moves) await cluster.leader(former)
    await writing.progress(20)
    const outageMs = writing.backAt(from) - from
    note('outage (s)', outageMs / 1_000)
    mend?.()
    await cluster.healthy()
    await writing.progress(10)
    const faults = await faultsIn(url, writing)
    for (const [code, count] of writing.errors) note(code, count - (errorsBefore.get(code) ?? 0))
    note(
      'acknowledged so far',
      [...writing.acknowledged().values()].reduce((a, b) => a + b),
    )
    note('lost', faults.lost)
    expect(faults).toEqual({ lost: 0, partial: 0, duplicate: 0, damaged: 0 })
    expect(outageMs).toBeLessThanOrEqual(mostOutageMs)
  })

  it('control: loses acknowledged turns with asynchronous replication', { timeout }, async () => {
    await writing.end()
    await cluster.makeAsynchronous()
    const other = await cluster.createDatabase('asynchronous')
    const careless = startWriters(other)
    onTestFinished(() => careless.kill())
    await careless.progress(10)
    const former = await cluster.leader()
    const { mend } = await stallAndKill(cluster, former)
    await cluster.leader(former)
    await expect.poll(() => careless.hasFoundLoss, { timeout: 60_000 }).toBe(true)
    const { lost } = await faultsIn(other, careless)
    note('lost', lost)
    expect(lost).toBeGreaterThan(0)
    mend!()
  })
}

describe('the files of docs/postgres-failover.md', () => {
  const node = { name: 'node2', folder: '/x', sqlPort: 1, restPort: 2, etcdPort: 3 }

  it('can be used with other addresses', () => {
    expect(patroniFor(node)).not.toContain('10.0.0.')
    expect(haproxyFor(4, [node, node, node])).toContain('127.0.0.1:1 check port 2')
  })

  it('replicate synchronously and strictly', () => {
    const { dcs } = patroniOfPage().bootstrap
    expect(dcs).toMatchObject({ synchronous_mode: true, synchronous_mode_strict: true })
  })
})
