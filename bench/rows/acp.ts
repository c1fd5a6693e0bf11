import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { median } from '../measure.ts'
import { type Line, type Suite, time } from '../suite.ts'

/** The time of a piece of an answer from the agent to the client, with and without the proxy. */

const skein = join(import.meta.dirname, '../../dist/cli/skein.cjs')
const agent = [process.execPath, join(import.meta.dirname, '../acp-agent.ts')]

/** A fast model with 500 pieces per second, and one that sends everything at once. */
const speeds = { paced: ['1000', '2'], 'at once': ['5000', '0'] } as const

export const acpSuite: Suite = {
  name: 'acp',
  when: 'byName',
  tasks: {},
  async run({ scale, place }) {
    const lines: Line[] = []
    for (const [name, speed] of Object.entries(speeds)) {
      const took = { direct: [] as number[], proxied: [] as number[], slowest: [] as number[] }
      for (let round = 0; round < scale.rounds; round++) {
        const direct = await latencies([...agent, ...speed])
        const proxied = await latencies([
          ...[process.execPath, skein, 'acp', '--db', join(place, `acp-${name}-${round}.db`), '--'],
          ...[...agent, ...speed],
        ])
        took.direct.push(median(direct))
        took.proxied.push(median(proxied))
        took.slowest.push(proxied.toSorted((a, b) => a - b)[Math.floor(proxied.length * 0.99)]!)
      }
      const added = median(took.proxied.map((us, i) => us - took.direct[i]!))
      lines.push({
        work: `relay of a piece of an answer, ${name}: proxy − direct`,
        floor: time(median(took.direct)),
        ours: time(median(took.proxied)),
        value: added / 1_000,
        ...(name === 'paced' ? { goal: 0.5 } : {}),
        note: `${time(added)} more; p99 ${time(median(took.slowest))}${name === 'paced' ? '; the goal is in ms' : ''}`,
      })
    }
    return lines
  },
}

/** Microseconds from the agent's write to the client's read, for each piece of one answer. */
async function latencies([command, ...args]: readonly string[]): Promise<readonly number[]> {
  const child = spawn(command!, args, { stdio: ['pipe', 'pipe', 'ignore'] })
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
