import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { textOf } from '../../src/core/message.ts'
import { collectPages } from '../../src/core/pages.ts'
import { pathOf } from '../../src/core/path.ts'
import { createWorker, type DispatchEvent } from '../../src/dispatch/index.ts'
import { openStore, type Store } from '../../src/index.ts'
import { scripted } from '../../src/models/scripted.ts'
import { answer, type Death, loggingTools } from '../agent/crash-child.ts'
import { createDatabase } from '../support/postgres.ts'
import { postgresUrl } from '../support/postgres-url.ts'

/** Runs a worker in a process that dies at a given write. Returns whether it died. */
async function diesAt(death: Death, target: string, log: string): Promise<boolean> {
  const args = [target, log, death.when, String(death.write)]
  const child = fork(join(import.meta.dirname, 'crash-child.ts'), args, { execArgv: [] })
  const [code, signal] = await once(child, 'exit')
  if (signal !== 'SIGKILL' && code !== 0) throw new Error(`the child ended with ${signal ?? code}`)
  return signal === 'SIGKILL'
}

function runsOf(name: string, log: string): number {
  if (!existsSync(log)) return 0
  return readFileSync(log, 'utf8')
    .split('\n')
    .filter(line => line === name).length
}

/** Another worker takes over at once, because the process of the claim is dead on this host. */
async function recover(store: Store, log: string): Promise<readonly DispatchEvent[]> {
  const events: DispatchEvent[] = []
  const agentFor = () => ({
    model: scripted({ script: () => `I continued. ${answer}` }),
    tools: loggingTools(log),
  })
  const worker = createWorker({
    ...{ store, tasks: store, agentFor, untilIdle: true, pollMs: 10, reclaimMs: 20, name: 'second' },
    onEvent: event => events.push(event),
  })
  await worker.ended
  return events
}

const engines = [
  { name: 'SQLite', target: async (place: string) => join(place, 'conversations.db') },
  { name: 'PostgreSQL', target: async () => createDatabase(await postgresUrl()) },
]

describe.each(engines)('a worker on $name that is killed', ({ name, target: targetIn }) => {
  it('is followed by another one, which continues the same turn (S2-2)', { timeout: 240_000 }, async () => {
    const step = name === 'SQLite' ? 1 : 3
    let write = 1
    for (; ; write += step) {
      for (const when of ['before', 'after'] as const) {
        const place = mkdtempSync(join(tmpdir(), 'dispatch-crash-'))
        const log = join(place, 'log')
        const target = await targetIn(place)
        const first = await openStore(target)
        await first.submitTask({ id: 't', project: 'web', description: 'Use both of your tools.' })
        await first.close()
        const died = await diesAt({ when, write }, target, log)
        const store = await openStore(target)
        if (died) await recover(store, log)
        await expectDoneOnce(store, log, `${when} write ${write}`)
        await store.close()
        rmSync(place, { recursive: true, force: true })
        if (!died) return expect(write).toBeGreaterThan(8)
      }
    }
  })
})

/** The task is done, its words are stored once, and no tool that must not be repeated ran twice. */
async function expectDoneOnce(store: Store, log: string, at: string): Promise<void> {
  const task = await store.getTask('t')
  expect([at, task.status, task.dispatches]).toEqual([at, 'done', 1])
  const conversations = (await store.listConversations({ task: 't' })).items
  expect([at, conversations.length]).toEqual([at, 1])
  const [conversation] = conversations
  const path = await pathOf(store, conversation!.branch.head!)
  const words = path.filter(message => message.role === 'user').map(textOf)
  expect([at, words]).toEqual([at, ['Use both of your tools.']])
  const turns = await collectPages(page => store.listTurns(conversation!.id, page))
  expect([at, turns.map(({ key, status }) => [key, status])]).toEqual([at, [['dispatch:1', 'complete']]])
  expect([at, runsOf('once', log) <= 1]).toEqual([at, true])
  const { findings } = await store.verify()
  expect([at, findings.damage, findings.repairable]).toEqual([at, 0, 0])
}
