import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, expect, it, onTestFinished } from 'vitest'
import { textOf } from '../../src/core/message.ts'
import { pathOf } from '../../src/core/path.ts'
import { openPostgresStore } from '../../src/stores/postgres/index.ts'
import { startOwnPostgres } from '../support/postgres.ts'
import { note } from './note.ts'
import { type Line, type Manner, room, saying } from './outage-child.ts'
import { size } from './size.ts'

/** A real server crashes and returns later, while processes that need it continue. */
const awayMs = size({ gate: 6_000, full: 60_000 })
const timeout = size({ gate: 60_000, full: 300_000 })

const server = await startOwnPostgres()
afterAll(() => server.stop())

/** A process that writes all the time, and its reports. */
async function startTalking(url: string, manner: Manner) {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'outage-child.ts'), url, manner], {
    stdio: ['pipe', 'pipe', manner === 'deaf' ? 'ignore' : 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines: Line[] = []
  const ended = once(child, 'close').then(([code]) => code as number | null)
  const waiting: { found: (line: Line) => boolean; tell: (at: number) => void }[] = []
  createInterface({ input: child.stdout! }).on('line', text => {
    const line = JSON.parse(text) as Line
    lines.push(line)
    for (const { found, tell } of waiting) if (found(line)) tell(performance.now())
  })
  /** The first report that matches. */
  const hears = (found: (line: Line) => boolean) =>
    Promise.race([
      new Promise<number>(tell => waiting.push({ found, tell })),
      ended.then(code => Promise.reject(new Error(`the process ended with ${code}`))),
    ])
  await hears(line => 'begun' in line)
  return { lines, ended, hears, end: () => child.stdin!.write('end\n') }
}

function endOf(lines: readonly Line[]) {
  return lines.find(line => 'ended' in line) as Extract<Line, { ended: unknown }>
}

/** The gate shares its cores with other tests, so its limits on times are wider. */
const slack = size({ gate: 4, full: 1 })

it('survives a crash of PostgreSQL, and stores everything within five seconds of its return (R24)', {
  timeout,
}, async () => {
  const [plainUrl, narrowUrl] = [await server.createDatabase(), await server.createDatabase()]
  const plain = await startTalking(plainUrl, 'plain')
  const narrow = await startTalking(narrowUrl, 'narrow')
  const recoveries = [plain, narrow].map(one =>
    one.hears(line => 'trouble' in line && line.trouble === 'recovered'),
  )
  await server.away()
  await pause(awayMs) // not a wait for an event: the time that the server is unavailable
  await server.back()
  const back = performance.now()
  const slowest = Math.max(...(await Promise.all(recoveries)).map(at => at - back))
  note('away (s)', awayMs / 1_000)
  note('recovered after (ms)', slowest)
  expect(slowest).toBeLessThan(5_000 * slack)
  for (const one of [plain, narrow]) one.end()
  expect([await plain.ended, await narrow.ended]).toEqual([0, 0])

  // Everything, once, in order.
  const all = endOf(plain.lines)
  expect(all.ended).toEqual({ saved: true, unsaved: 0, lost: 0 })
  expect(await storedIn(plainUrl)).toEqual(Array.from({ length: all.said }, (_, n) => saying(n)))
  expect(troublesOf(plain.lines)).toEqual(['degraded', 'recovered'])
  expect(all.slowestAddMs).toBeLessThan(2_500 * slack)
  note('said', all.said)
  note('slowest step (ms)', all.slowestAddMs)

  // No more than the queue holds: a prefix of the messages is stored, and the rest is reported.
  const some = endOf(narrow.lines)
  const stored = await storedIn(narrowUrl)
  expect(stored).toEqual(stored.map((_, n) => saying(n)))
  expect([some.ended.saved, some.ended.lost]).toEqual([false, some.said - stored.length])
  expect(troublesOf(narrow.lines).sort()).toEqual(['degraded', 'lost', 'recovered'])
  const mostWaiting = Math.max(...narrow.lines.map(line => ('trouble' in line ? line.waiting : 0)))
  expect(mostWaiting).toBeLessThanOrEqual(room)
  note('waiting at most', mostWaiting)

  // Readers got an error at once.
  const asked = plain.lines.filter(line => 'read' in line)
  expect([...new Set(asked.map(({ read }) => read))].sort()).toEqual(['answered', 'unavailable'])
  expect(asked.at(-1)!.read).toBe('answered')
  const slowestRefusal = Math.max(...asked.map(({ read, ms }) => (read === 'unavailable' ? ms : 0)))
  note('slowest refusal (ms)', slowestRefusal)
  expect(slowestRefusal).toBeLessThan(2_500 * slack)
})

const troublesOf = (lines: readonly Line[]) => lines.flatMap(line => ('trouble' in line ? line.trouble : []))

async function storedIn(url: string): Promise<string[]> {
  await using store = await openPostgresStore(url)
  const { branch } = (await store.findByKey('outage'))!
  return (await pathOf(store, branch.head!)).map(textOf)
}

it('control: ends a process whose pool has no error listener', { timeout }, async () => {
  const deaf = await startTalking(await server.createDatabase(), 'deaf')
  await server.away()
  expect(await deaf.ended).not.toBe(0)
  await server.back()
})
