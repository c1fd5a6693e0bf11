import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { MessageId } from '../../../src/core/ids.ts'
import type { NewMessage } from '../../../src/core/message.ts'
import { openSqliteStore } from '../../../src/stores/sqlite/index.ts'
import { note } from '../../battery/note.ts'
import { peakMemoryOf } from '../../battery/peak.ts'
import { size } from '../../battery/size.ts'
import { commandLine } from '../../cli/skein.ts'
import { strangeEnvironment } from '../../support/place.ts'

/** Loading a long coding conversation, by an editor that takes it as fast as it comes and by a slow one. */

/** Turns of four messages: a question, a call, its result, an answer. */
const turns = size({ gate: 250, full: 2_500 })
/** With these texts, 10,000 messages have 82 MB. */
const [short, long] = ['word '.repeat(400), 'output of a command '.repeat(1_360)]

/** The most memory that the whole process may use. */
const mostBytes = 150_000_000
/** The first line is shown after at most this time. The gate runs beside other tests. */
const mostMs = size({ gate: 500, full: 50 })

const mb = (bytes: number) => `${Math.round(bytes / 1e6)} MB`
let folder: string
let sessionId: string

beforeAll(
  async () => {
    folder = mkdtempSync(join(tmpdir(), 'acp-load-'))
    await using store = await openSqliteStore(join(folder, 'long.db'), { durability: 'normal' })
    const { conversation, branch } = await store.create({ directory: folder, channel: 'acp' })
    sessionId = conversation.id
    let head: MessageId | null = null
    for (let turn = 0; turn < turns; turn++) head = (await store.append(branch, head, messagesOf(turn))).head
  },
  size({ gate: 60_000, full: 600_000 }),
)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function messagesOf(turn: number): readonly [NewMessage, ...NewMessage[]] {
  const callId = `call-${turn}`
  return [
    { role: 'user', content: `${turn} ${short}` },
    {
      role: 'assistant',
      content: [{ type: 'tool_call', callId, name: 'bash', input: { command: `run ${turn}` } }],
    },
    { role: 'tool_result', content: [{ type: 'tool_result', callId, output: `${turn} ${long}` }] },
    { role: 'assistant', content: `${turn} ${short}` },
  ]
}

const agent = [process.execPath, join(import.meta.dirname, 'late-agent.ts')]

describe.each([
  ['the proxy', ['acp', '--', ...agent]],
  ['our own agent', ['acp']],
])('a load of a long conversation by %s', (name, args) => {
  it.each(
    size<readonly (readonly [pace: string, pauseMs: number])[]>({
      gate: [['at once', 0]],
      full: [
        ['at once', 0],
        ['slowly', 1],
      ],
    }),
  )(
    'needs little memory for an editor that reads %s, and begins soon',
    {
      timeout: size({ gate: 120_000, full: 600_000 }),
    },
    async (pace, pauseMs) => {
      const { updates, bytes, firstMs, peak } = await load(args, pauseMs)
      const most = peak === null ? 'not measured' : mb(peak)
      note(`${name}, read ${pace}`, `${mb(bytes)} in ${updates} updates, peak ${most}`)
      note(`${name}, read ${pace}: first line`, `${firstMs.toFixed(0)} ms`)
      // A call and its result are one update.
      expect(updates).toBe(turns * 3)
      if (peak !== null) expect(peak).toBeLessThan(mostBytes)
      expect(firstMs).toBeLessThan(mostMs)
    },
  )
})

async function load(args: readonly string[], pauseMs: number) {
  const [command, argv] = commandLine(args)
  const child = spawn(command, argv, {
    cwd: folder,
    env: { ...strangeEnvironment(folder, process.env), SKEIN_DB: join(folder, 'long.db') },
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  const say = (id: number, method: string, params: object) =>
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
  say(0, 'initialize', { protocolVersion: 1, clientCapabilities: {} })
  let [begun, firstMs, updates, bytes] = [0, 0, 0, 0]
  for await (const line of createInterface({ input: child.stdout })) {
    const { id, method } = JSON.parse(line) as { id?: number; method?: string }
    if (id === 0) {
      await wait(200) // the agent is ready
      begun = performance.now()
      say(1, 'session/load', { sessionId, cwd: folder, mcpServers: [] })
    } else if (id === 1) break
    else if (method === 'session/update' && /_chunk"|"tool_call/.test(line)) {
      if (updates === 0) firstMs = performance.now() - begun
      updates++
      bytes += line.length
      if (pauseMs > 0 && updates % 10 === 0) await wait(pauseMs)
    }
  }
  const peak = peakMemoryOf(child.pid!)
  child.stdin.end()
  await once(child, 'close')
  return { updates, bytes, firstMs, peak }
}
