import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createAgent } from '../../src/agent/agent.ts'
import type { ToolCallBlock, ToolResultBlock } from '../../src/core/block.ts'
import type { ModelRequest } from '../../src/core/model.ts'
import { collectPages } from '../../src/core/pages.ts'
import { openStore, type Store } from '../../src/index.ts'
import { scripted } from '../../src/models/scripted.ts'
import { note } from '../battery/note.ts'
import { size } from '../battery/size.ts'
import { createDatabase } from '../support/postgres.ts'
import { postgresUrl } from '../support/postgres-url.ts'
import { said } from './build.ts'
import { answer, type Death, loggingTools, question } from './crash-child.ts'

/** Rounds at every point. */
const rounds = size({ gate: 1, full: 20 })

/** One round: a folder, a store in it, and the log of the tools. */
interface Round {
  readonly place: string
  readonly target: string
}

/** Runs an agent in a process that dies at a given point. Returns how many writes were made, and whether it
 *  died. */
async function until(death: Death, { place, target }: Round): Promise<{ wrote: number; died: boolean }> {
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

/** Calls without a result, and results without a call, in the prompts of a model. */
function torn({ messages }: ModelRequest): string[] {
  const ids = (type: string) =>
    messages.flatMap(message =>
      message.content
        .filter((block): block is ToolCallBlock | ToolResultBlock => block.type === type)
        .map(block => block.callId),
    )
  const [calls, results] = [ids('tool_call'), ids('tool_result')]
  return [...calls.filter(id => !results.includes(id)), ...results.filter(id => !calls.includes(id))]
}

function runsOf(name: string, { place }: Round): number {
  const log = join(place, 'log')
  return existsSync(log)
    ? readFileSync(log, 'utf8')
        .split('\n')
        .filter(line => line === name).length
    : 0
}

/** Continues in this process as a person would: resumes the turn, or sends the message again if nothing was
 *  stored. */
async function recover(store: Store, round: Round): Promise<void> {
  const requests: ModelRequest[] = []
  const script = (request: ModelRequest) => {
    requests.push(request)
    return 'I continued.'
  }
  const agent = createAgent({
    store,
    model: scripted({ script }),
    tools: loggingTools(join(round.place, 'log')),
  })
  const before = await said(store, 'talk')
  if (before.length === 0) return
  expect(before[0]).toBe(`user: ${question}`)
  const resumed = await agent
    .resume('talk')
    .result()
    .catch(error => error)
  // The only reason to refuse is that the turn is complete.
  if (resumed instanceof Error) expect((await said(store, 'talk')).at(-1)).toBe(`assistant: ${answer}`)
  else expect(resumed).toMatchObject({ text: 'I continued.', status: 'complete', saved: true })
  const next = await agent.ask('talk', 'And now?')
  expect(next.status).toBe('complete')
  expect(requests.flatMap(torn)).toEqual([])
  expect(runsOf('once', round)).toBeLessThanOrEqual(1)
  const { conversation } = (await store.findByKey('talk'))!
  const open = await collectPages(page => store.listTurns(conversation.id, { status: 'open', ...page }))
  expect(open).toEqual([])
}

const targets = {
  sqlite: async (place: string) => join(place, 'talk.db'),
  postgres: async () => createDatabase(await postgresUrl()),
}

describe.each(Object.keys(targets) as (keyof typeof targets)[])('on %s', engine => {
  const inRound = async (work: (round: Round) => Promise<void>): Promise<void> => {
    const place = mkdtempSync(join(tmpdir(), 'skein-crash-'))
    await work({ place, target: await targets[engine](place) }).finally(() =>
      rmSync(place, { recursive: true }),
    )
  }

  it(
    'leaves a conversation that continues if it is killed at any write, and runs no tool twice (R2, R27)',
    async () => {
      let writes = 0
      await inRound(async round => {
        const { wrote, died } = await until({ when: 'after', write: Number.POSITIVE_INFINITY }, round)
        expect([died, runsOf('once', round)]).toEqual([false, 1])
        // The question, the answer, tool starts, results and traces of both, drafts, and the last answer,
        // which ends the turn.
        expect(wrote).toBeGreaterThan(8)
        writes = wrote
      })
      const deaths = Array.from({ length: rounds * writes * 2 }, (_, i): Death => {
        return { write: (i % writes) + 1, when: i % (2 * writes) < writes ? 'before' : 'after' }
      })
      const next = deaths.values()
      const takeTurns = async () => {
        for (const death of next) await inRound(round => dieAndRecover(death, round))
      }
      await Promise.all([takeTurns(), takeTurns()])
      note('deaths', deaths.length)
      note('tools run twice', 0)
      note('open turns left', 0)
    },
    300_000 * rounds,
  )
})

async function dieAndRecover(death: Death, round: Round): Promise<void> {
  // The number of drafts depends on timing, so the last writes may not occur.
  if (!(await until(death, round)).died) return
  const store = await openStore(round.target)
  await recover(store, round).finally(() => store.close())
}
