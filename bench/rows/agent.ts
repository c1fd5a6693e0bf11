import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { createAgent } from '../../src/agent/agent.ts'
import type { MessageId } from '../../src/core/ids.ts'
import { openSqliteStore, sqliteStore } from '../../src/stores/sqlite/index.ts'
import { median, pairedRatio } from '../measure.ts'
import { inFreshProcess } from '../process.ts'
import { rounds, type Suite, time } from '../suite.ts'
import { timedModel } from '../timed-model.ts'
import { makeTurn } from '../workload.ts'

/** The time from `send()` until the model is called: by then the user's message is on disk, and the context
 *  was read and fitted. */

const warmUp = 10
const groups = 30
const window = { limit: 125_000 }

type History = 'short' | 'long'

/** Microseconds until the request was sent. */
type Measured = Record<History, number>

async function fill({ file, history }: { file: string; history: number }): Promise<null> {
  const db = new BetterSqlite3(file)
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = off')
  const store = await sqliteStore(db)
  await talk('short', 1_000)
  await talk('long', history)
  db.close()
  return null

  async function talk(key: string, messages: number): Promise<void> {
    const { branch } = await store.findOrCreate(key)
    let head: MessageId | null = null
    for (let turn = 0; turn < messages / 4; turn++) {
      if (turn % 500 === 0) db.exec('BEGIN')
      const { messages: said } = makeTurn(turn)
      head = (await store.append(branch, head, said, { turn: { key: `${key}-${turn}`, step: 0 } })).head
      if (turn % 500 === 499 || turn === messages / 4 - 1) db.exec('COMMIT')
    }
  }
}

async function* send({ file }: { file: string }): AsyncGenerator<Measured> {
  const store = await openSqliteStore(file)
  const { model, calledAt } = timedModel()
  const agent = createAgent({ store, model, window, system: 'You are a helpful assistant.' })
  for (let group = 0; group < warmUp + groups; group++) {
    const measured = {} as Measured
    for (const history of group % 2 === 0 ? (['short', 'long'] as const) : (['long', 'short'] as const)) {
      const start = performance.now()
      await agent.ask(history, 'And what do you say now?')
      measured[history] = (calledAt() - start) * 1_000
    }
    if (group >= warmUp) yield measured
  }
  await agent.close()
  await store.close()
}

export const agentSuite: Suite = {
  name: 'agent',
  when: 'byName',
  tasks: { fill, send },
  async run(bench) {
    const { history } = bench.scale
    const file = join(bench.place, 'agent.db')
    await inFreshProcess({ suite: 'agent', task: 'fill', args: { file, history } })
    const { ours } = await rounds<'ours', Measured>(
      bench.scale.rounds,
      ['ours'],
      { suite: 'agent', task: 'send' },
      () => ({ file }),
    )
    const each = (which: History) => ours.map(groups => groups.map(group => group[which]))
    const middle = (which: History) => median(each(which).flat())
    const all = history.toLocaleString('en')
    return [
      {
        work: `agent, from send() to the model: of ${all} ÷ of 1,000`,
        floor: time(middle('short')),
        ours: time(middle('long')),
        ratio: pairedRatio(each('long'), each('short')),
        goal: 1.2,
        note: 'the words stored with FULL, 100k tokens read and fitted',
      },
      {
        work: `agent, from send() to the model, in milliseconds`,
        ours: time(middle('long')),
        value: middle('long') / 1_000,
        goal: 20,
        note: `in a conversation of ${all} messages, in a warm process`,
      },
    ]
  },
}
