import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { note } from '../../battery/note.ts'
import { isFull, size } from '../../battery/size.ts'
import { freshDatabase } from '../../stores/postgres/database.ts'
import { type FollowLoad, followLoad } from './follow-load.ts'

/** `npm run bench -- follow` measures the same on a quiet machine. */
const load: Omit<FollowLoad, 'target'> = {
  followers: 200,
  conversations: 50,
  seconds: size({ gate: 10, full: 60 }),
  firstSecond: size({ gate: 3, full: 10 }),
}
const timeout = size({ gate: 120_000, full: 300_000 })

function freshFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'follow-load-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'conversations.db')
}

const targets = { SQLite: async () => freshFile(), PostgreSQL: freshDatabase }

describe.each(['SQLite', 'PostgreSQL'] as const)('followers at two processes on %s', engine => {
  it('receive every message in order and once, and take at most 40 kB each', { timeout }, async () => {
    const result = await followLoad({ ...load, target: await targets[engine]() })
    const p95 = result.latencies[Math.floor(result.latencies.length * 0.95)]!
    note('appends', result.appends)
    note('deliveries', result.deliveries)
    note('p95 (ms)', p95)
    note('kB per follower', result.perFollower.heap / 1_000)
    note('memory at the end ÷ at the beginning', result.growth.resident)
    note('heap at the end ÷ at the beginning', result.growth.heap)
    expect(result.faults).toEqual([])
    expect(result.appends).toBeGreaterThan(load.conversations)
    expect(result.deliveries).toBe((result.appends * load.followers) / load.conversations)
    expect(result.perFollower.heap).toBeLessThan(40_000)
    // What JavaScript holds after a collection does not depend on the load of the machine.
    expect(result.growth.heap).toBeLessThan(1.2)
    expect(p95).toBeLessThan(400)
    // In 10 s the pages of V8 are still being reserved.
    if (isFull) expect(result.growth.resident).toBeLessThan(1.2)
  })
})
