import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { readContext } from '../../src/context/read-context.ts'
import type { ConversationId, MessageId } from '../../src/core/ids.ts'
import type { Store } from '../../src/core/ports.ts'
import { openSqliteStore, sqliteStore } from '../../src/stores/sqlite/index.ts'
import { median, pairedRatio } from '../measure.ts'
import { inFreshProcess } from '../process.ts'
import { rounds, type Suite, time } from '../suite.ts'
import { makeTurn, workId } from '../workload.ts'

/** A window with 100,000 usable tokens. */
const window = { limit: 125_000, keepRecent: 10 }
const system = 'You are a helpful assistant.'
const holder = { host: 'bench', boot: 'b', pid: 1, startedAt: 1 }

const warmUp = 30
const groups = 40

/** Plain, and with summaries along the whole path, each of one window. */
type History = 'short' | 'long' | 'shortSummarised' | 'longSummarised'

interface ContextArgs {
  readonly file: string
  readonly heads: Record<History, string>
}

interface Measured {
  readonly us: number
  readonly messages: number
}

async function fill({ file, history }: { file: string; history: number }): Promise<Record<History, string>> {
  const db = new BetterSqlite3(file)
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = off')
  const store = await sqliteStore(db)
  let turns = 0
  const heads = {
    short: await talk(0, 1_000, false),
    long: await talk(1, history, false),
    shortSummarised: await talk(2, 1_000, true),
    longSummarised: await talk(3, history, true),
  }
  db.close()
  return heads

  /** With summaries, there is one for every 90 turns, and the last one ends 20 turns before the end. */
  async function talk(number: number, messages: number, summarised: boolean): Promise<MessageId> {
    const { branch, conversation } = await store.create({ id: workId(number) as ConversationId })
    let first: MessageId | null = null
    let head: MessageId | null = null
    for (let turn = 0; turn < messages / 4; turn++) {
      if (turn % 500 === 0) db.exec('BEGIN')
      const { key, messages: said } = makeTurn(turns++)
      const appended = await store.append(branch, head, said, { turn: { key, step: 0 } })
      head = appended.head
      first ??= appended.ids[0]
      if (turn % 500 === 499 || turn === messages / 4 - 1) db.exec('COMMIT')
      if (summarised && (messages / 4 - turn) % 90 === 20) await summarise(conversation.id, first, head, turn)
    }
    return head!
  }

  async function summarise(
    id: ConversationId,
    first: MessageId,
    last: MessageId,
    turn: number,
  ): Promise<void> {
    await store.claimSummary(id, { first, last }, holder)
    const text = `Summary ${turn}: `.padEnd(6_000, 'they spoke of files and tests; ')
    await store.putSummary(id, { first, last, text, tokens: 1_500, holder, model: 'small' })
  }
}

async function* read({ file, heads }: ContextArgs): AsyncGenerator<Record<History, Measured>> {
  const store: Store = await openSqliteStore(file, { durability: 'normal' })
  for (let group = 0; group < warmUp + groups; group++) {
    const measured = {} as Record<History, Measured>
    for (const [history, head] of Object.entries(heads) as [History, MessageId][]) {
      const start = performance.now()
      const { fitted } = await readContext(store, head, window, { system })
      measured[history] = { us: (performance.now() - start) * 1_000, messages: fitted.messages.length }
    }
    if (group >= warmUp) yield measured
  }
  await store.close()
}

export const contextSuite: Suite = {
  name: 'context',
  when: 'byName',
  tasks: { fill, read },
  async run(bench) {
    const { history } = bench.scale
    const file = join(bench.place, 'context.db')
    const heads = await inFreshProcess<Record<History, string>>({
      suite: 'context',
      task: 'fill',
      args: { file, history },
    })
    const { ours } = await rounds<'ours', Record<History, Measured>>(
      bench.scale.rounds,
      ['ours'],
      { suite: 'context', task: 'read' },
      () => ({ file, heads }),
    )
    const each = (which: History) => ours.map(groups => groups.map(group => group[which].us))
    const shown = (which: History) => {
      const groups = ours.flat().map(group => group[which])
      return `${time(median(groups.map(({ us }) => us)))}, ${groups[0]!.messages} messages`
    }
    const line = (work: string, many: History, few: History) => ({
      work,
      floor: shown(few),
      ours: shown(many),
      ratio: pairedRatio(each(many), each(few)),
      goal: 1.2,
      note: 'a context, read and fitted',
    })
    const all = history.toLocaleString('en')
    return [
      line(`context of 100k tokens: of ${all} ÷ of 1,000`, 'long', 'short'),
      line(`context with summaries: of ${all} ÷ of 1,000`, 'longSummarised', 'shortSummarised'),
    ]
  },
}
