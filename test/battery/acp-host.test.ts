import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { type Message, textOf } from '../../src/core/message.ts'
import { pathOf } from '../../src/core/path.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'
import { agentCommand, openStage, type Stage } from '../acp/agents/harness.ts'
import { marker, slowly, timesGiven } from '../acp/agents/model-server.ts'
import { killAll, runVariable } from '../acp/agents/processes.ts'
import { note } from './note.ts'
import { seededRandom } from './random.ts'
import { size } from './size.ts'

/** Agents that forget everything, that keep the prompts, that keep only complete turns, and that keep
 *  everything: in one conversation, one after the other. */
const agents = [
  agentCommand('forgetful'),
  agentCommand('good'),
  agentCommand('good', '--without=resume'),
  agentCommand('dies', '--keeps=question'),
  agentCommand('dies', '--keeps=turns'),
  agentCommand('early-load'),
]

/** The report of the child at which it is killed: most often in the middle of an answer, where most can be
 *  lost. */
const moments = ['open', 'started', 'memory', 'text', 'text', 'text', 'ended'] as const

/** The most messages that an agent is told: a longer conversation is told only in part. */
const roundsPerTalk = 10

interface Round {
  readonly file: string
  readonly key: string
  readonly words: string
  readonly agent: readonly string[]
  /** When everything is killed; null if the child may finish. */
  readonly kill: { readonly after: (typeof moments)[number]; readonly ms: number } | null
}

async function play(
  { file, key, words, agent, kill }: Round,
  { cwd, env }: Stage,
): Promise<readonly string[]> {
  const run = randomUUID()
  const child: ChildProcess = spawn(
    process.execPath,
    [join(import.meta.dirname, 'acp-host-child.ts'), file, key, words, ...agent],
    { cwd, env: { ...env, [runVariable]: run }, stdio: ['pipe', 'pipe', 'inherit'] },
  )
  const gone = once(child, 'exit')
  const told: string[] = []
  for await (const line of createInterface({ input: child.stdout! })) {
    told.push(line)
    if (line === (kill?.after ?? 'ended')) break
  }
  if (kill) {
    await wait(kill.ms)
    await killAll(run)
  } else child.stdin!.end()
  await gone
  await killAll(run)
  return told
}

async function storedPath(file: string, key: string): Promise<readonly Message[]> {
  await using store = await openSqliteStore(file)
  const place = await store.findByKey(key)
  return place?.branch.head ? pathOf(store, place.branch.head) : []
}

/** The text that identifies a stored message; null for an answer that had hardly begun. */
function markOf(message: Message): string | null {
  const [mark] = /(MARK|ANSWER)-r\d+\./.exec(textOf(message)) ?? [null]
  return mark
}

it('gives the next prompt’s model every stored message exactly once, whenever host and agent are killed (S4-39)', {
  timeout: size({ gate: 60_000, full: 1_200_000 }),
}, async () => {
  const seed = Number(process.env.PROPERTY_SEED ?? Math.floor(Math.random() * 2 ** 31))
  const random = seededRandom(seed)
  const pick = <T>(from: readonly T[]) => from[Math.floor(random() * from.length)]!
  const rounds = size({ gate: 5, full: 50 })
  await using stage = await openStage()
  const file = join(stage.cwd, 'host.db')
  const faults: string[] = []
  let [kills, judged] = [0, 0]
  for (let n = 0; n < rounds; n++) {
    const key = `talk-${Math.floor(n / roundsPerTalk)}`
    const words = marker(`r${n}.`)
    stage.model.answerTo(
      words,
      ...slowly(`ANSWER-r${n}. ${'All is well, and there is more to say of it. '.repeat(6)}`, 8),
    )
    const isLast = n === rounds - 1 || (n + 1) % roundsPerTalk === 0
    const kill = isLast ? null : { after: pick(moments), ms: Math.floor(random() * 120) }
    const before = stage.model.turns.length
    const told = await play({ file, key, words, agent: pick(agents), kill }, stage)
    if (kill) kills++
    const path = await storedPath(file, key)
    const isKept = path.some(message => markOf(message) === words)
    if (told.includes('started') && !isKept) faults.push(`round ${n}: the words are not kept`)
    if (isLast && !told.includes('ended')) faults.push(`round ${n}: it did not come to its end`)
    const asked = stage.model.turns[before]
    if (!asked) continue
    judged++
    const known = path.slice(0, path.findIndex(message => markOf(message) === words) + 1)
    for (const mark of known.flatMap(message => markOf(message) ?? [])) {
      const times = timesGiven(asked, mark)
      if (times !== 1) faults.push(`round ${n}, ${asked.agent}: ${mark} ${times} times`)
    }
  }
  note('rounds', rounds)
  note('kills', kills)
  note('prompts judged', judged)
  note('faults', faults.length)
  note('seed', String(seed))
  expect(faults, `PROPERTY_SEED=${seed}`).toEqual([])
  expect(judged).toBeGreaterThan(0)
})
