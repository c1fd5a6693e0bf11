import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { createAgent } from '../../src/agent/agent.ts'
import type { ToolCallBlock, ToolResultBlock } from '../../src/core/block.ts'
import type { ModelRequest } from '../../src/core/model.ts'
import { openStore, type Store } from '../../src/index.ts'
import { scripted } from '../../src/models/scripted.ts'
import { createDatabase } from '../support/postgres.ts'
import { said } from './build.ts'
import { answer, type Death, loggingTools, question } from './crash-child.ts'

/** One round at every point in the gate; `npm run kills` makes twenty. */
const rounds = Number(process.env.KILL_ROUNDS ?? 1)

let place: string
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'skein-crash-'))
})
afterEach(() => rmSync(place, { recursive: true }))

/** Lets an agent work in a process of its own until it dies there. Returns how many writes were made, and whether
 *  it died at all. */
async function until(death: Death, target: string): Promise<{ wrote: number; died: boolean }> {
  const args = [target, join(place, 'log'), death.when, String(death.write)]
  const child = fork(join(import.meta.dirname, 'crash-child.ts'), args, { execArgv: [] })
  let wrote = 0
  child.on('message', (message: { wrote: number }) => {
    wrote = message.wrote
  })
  const [code, signal] = await once(child, 'exit')
  if (signal !== 'SIGKILL' && code !== 0) throw new Error(`the child ended with ${signal ?? code}`)
  return { wrote, died: signal === 'SIGKILL' }
}

/** Calls without a result, and results without a call, in what a model was given. */
function torn({ messages }: ModelRequest): string[] {
  const ids = (type: string) =>
    messages.flatMap(message =>
      message.blocks
        .filter((block): block is ToolCallBlock | ToolResultBlock => block.type === type)
        .map(block => block.callId),
    )
  const [calls, results] = [ids('tool_call'), ids('tool_result')]
  return [...calls.filter(id => !results.includes(id)), ...results.filter(id => !calls.includes(id))]
}

function runsOf(name: string): number {
  const log = join(place, 'log')
  return existsSync(log)
    ? readFileSync(log, 'utf8')
        .split('\n')
        .filter(line => line === name).length
    : 0
}

/** Goes on in this process as a person would: resume what stopped, or ask again if nothing had been kept. */
async function recover(store: Store): Promise<void> {
  const requests: ModelRequest[] = []
  const script = (request: ModelRequest) => {
    requests.push(request)
    return 'I went on.'
  }
  const agent = createAgent({ store, model: scripted({ script }), tools: loggingTools(join(place, 'log')) })
  const before = await said(store, 'talk')
  if (before.length === 0) return
  expect(before[0]).toBe(`user: ${question}`)
  const resumed = await agent
    .resume('talk')
    .result()
    .catch(error => error)
  // The only reason not to go on is that everything had been said.
  if (resumed instanceof Error) expect((await said(store, 'talk')).at(-1)).toBe(`assistant: ${answer}`)
  else expect(resumed).toMatchObject({ text: 'I went on.', status: 'complete', saved: true })
  const next = await agent.ask('talk', 'And now?')
  expect(next.status).toBe('complete')
  expect(requests.flatMap(torn)).toEqual([])
  expect(runsOf('once')).toBeLessThanOrEqual(1)
  const { conversation } = (await store.findByKey('talk'))!
  const open = await store.listTurns(conversation.id, { status: 'open' })
  expect(open).toEqual([])
}

const targets = {
  sqlite: async () => join(place, 'talk.db'),
  postgres: async () => createDatabase(inject('postgresUrl')),
}

describe.each(Object.keys(targets) as (keyof typeof targets)[])('on %s', engine => {
  it('an agent that is killed at any write leaves a conversation that goes on, and runs no tool twice (R2, R27)', async () => {
    const whole = await until({ when: 'after', write: Number.POSITIVE_INFINITY }, await targets[engine]())
    expect(whole.died).toBe(false)
    expect(runsOf('once')).toBe(1)
    // Words, answer, tools started, results and traces of both, drafts, the last answer and the end.
    expect(whole.wrote).toBeGreaterThan(8)
    for (let round = 0; round < rounds; round++) {
      for (let write = 1; write <= whole.wrote; write++) {
        for (const when of ['before', 'after'] as const) {
          rmSync(join(place, 'log'), { force: true })
          rmSync(join(place, 'talk.db'), { force: true })
          for (const rest of ['-wal', '-shm']) rmSync(join(place, `talk.db${rest}`), { force: true })
          const target = await targets[engine]()
          const { died } = await until({ when, write }, target)
          if (!died) continue
          const store = await openStore(target)
          await recover(store)
          await store.close()
        }
      }
    }
  }, 300_000)
})
