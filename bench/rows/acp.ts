import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { makeSlowSyncs } from '../../test/support/slow-syncs.ts'
import { median } from '../measure.ts'
import { type Line, type Suite, time } from '../suite.ts'

/** The time of a piece of an answer from the agent to the client, with and without the proxy. */

const skein = join(import.meta.dirname, '../../dist/cli/skein.cjs')
const agent = [process.execPath, join(import.meta.dirname, '../acp-agent.ts')]

/** An answer, and the disk of the proxy. */
interface Trial {
  readonly name: string
  /** The number of pieces, the pause between them, their rate, and the pieces between two calls of a tool
   *  (`acp-agent.ts`). */
  readonly speed: readonly string[]
  /** Without a goal, the row is only for comparison. */
  readonly hasGoal: boolean
  /** Whether the slowest pieces have a goal, too. */
  readonly hasTail: boolean
  readonly isDiskSlow?: boolean
}

const everySecond5000 = ['40000', '1', '5000', '1000']
const trials: readonly Trial[] = [
  { name: 'paced', speed: ['1000', '2'], hasGoal: true, hasTail: false },
  { name: 'at once', speed: ['5000', '0'], hasGoal: false, hasTail: false },
  { name: '5,000/s', speed: everySecond5000, hasGoal: true, hasTail: true },
  {
    name: '5,000/s, each sync of the disk 100 ms longer',
    speed: everySecond5000,
    hasGoal: true,
    hasTail: true,
    isDiskSlow: true,
  },
]

/** The goals, in milliseconds more than without the proxy. */
const goals = { median: 0.5, slowest: 10 } as const

export const acpSuite: Suite = {
  name: 'acp',
  when: 'byName',
  tasks: {},
  async run({ scale, place }) {
    const lines: Line[] = []
    const slow = makeSlowSyncs(place)
    for (const [index, trial] of trials.entries()) {
      if (trial.isDiskSlow && !slow) {
        lines.push({ work: `relay, ${trial.name}`, ours: 'not run', note: 'needs Linux and a C compiler' })
        continue
      }
      const took = {
        direct: [] as number[],
        proxied: [] as number[],
        slowest: [] as number[],
        tail: [] as number[],
      }
      for (let round = 0; round < scale.rounds; round++) {
        const db = join(place, `acp-${index}-${round}.db`)
        const answering = [...agent, ...trial.speed]
        const direct = await latencies(answering)
        const proxied = await latencies(
          [process.execPath, skein, 'acp', '--db', db, '--', ...answering],
          trial.isDiskSlow ? { ...slow!, SLOW_SYNC_MS: '100' } : {},
        )
        took.direct.push(median(direct))
        took.proxied.push(median(proxied))
        took.slowest.push(slowestOf(proxied))
        took.tail.push(slowestOf(proxied) - slowestOf(direct))
      }
      const added = median(took.proxied.map((us, i) => us - took.direct[i]!))
      lines.push({
        work: `relay of a piece of an answer, ${trial.name}: proxy − direct`,
        floor: time(median(took.direct)),
        ours: time(median(took.proxied)),
        value: added / 1_000,
        ...(trial.hasGoal && { goal: goals.median }),
        note: `${time(added)} more; p99 ${time(median(took.slowest))}; the goal is in ms`,
      })
      if (trial.hasTail)
        lines.push({
          work: `the same, ${trial.name}, the slowest 1 %: proxy − direct`,
          floor: time(median(took.slowest) - median(took.tail)),
          ours: time(median(took.slowest)),
          value: median(took.tail) / 1_000,
          goal: goals.slowest,
          note: 'p99; the goal is in ms',
        })
    }
    return lines
  },
}

/** The time that 99 % of the pieces do not exceed. */
function slowestOf(took: readonly number[]): number {
  return took.toSorted((a, b) => a - b)[Math.floor(took.length * 0.99)]!
}

/** Microseconds from the agent's write to the client's read, for each piece of one answer. */
async function latencies(
  [command, ...args]: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<readonly number[]> {
  const child = spawn(command!, args, {
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  const took: number[] = []
  const say = (id: number, method: string, params: object) =>
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
  say(0, 'initialize', { protocolVersion: 1, clientCapabilities: {} })
  for await (const line of createInterface({ input: child.stdout })) {
    const now = Number(process.hrtime.bigint())
    const { id, params, result } = JSON.parse(line)
    if (params?._meta?.at) took.push((now - params._meta.at) / 1e3)
    else if (id === 0) say(1, 'session/new', { cwd: process.cwd(), mcpServers: [] })
    else if (id === 1) {
      const prompt = [{ type: 'text', text: 'reply' }]
      say(2, 'session/prompt', { sessionId: result.sessionId, prompt })
    } else if (id === 2) break
  }
  child.stdin.end()
  await once(child, 'close')
  return took
}
