import { copyFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import type { BranchRef } from '../../src/core/branch.ts'
import type { MessageId } from '../../src/core/ids.ts'
import { textOf } from '../../src/core/message.ts'
import { pathOf } from '../../src/core/path.ts'
import type { Store } from '../../src/core/ports.ts'
import { backupFile } from '../../src/stores/sqlite/backup.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'
import { startWorker } from '../support/workers.ts'
import { folder } from './damaged-file.ts'
import { note } from './note.ts'
import { size } from './size.ts'

const filler = 'x'.repeat(3_000)

/** A process that writes two messages at a time, repeatedly, and counts the acknowledged ones. */
interface Talker {
  readonly branch: BranchRef
  /** The number of acknowledged pairs so far. */
  readonly said: () => number
  stop(): Promise<void>
}

async function startTalking(file: string): Promise<Talker> {
  const worker = await startWorker()
  await worker.open(file)
  const { branch } = await worker.store.create()
  let [count, isOver] = [0, false]
  let head: MessageId | null = null
  const talking = (async () => {
    while (!isOver) {
      const pair = [`${count} a ${filler}`, `${count} b`].map(blocks => ({
        role: 'user' as const,
        content: blocks,
      }))
      const { head: next } = await worker.store.append(branch, head, [pair[0]!, pair[1]!])
      head = next
      count++
    }
  })()
  return {
    branch,
    said: () => count,
    async stop() {
      isOver = true
      await talking
      await worker.kill()
    },
  }
}

/** The number of a writer's pairs in the store; throws if they are not a prefix of what it wrote. */
async function pairsIn(store: Store, branch: BranchRef): Promise<number> {
  const { head } = await store.getBranch(branch)
  const texts =
    head === null ? [] : (await pathOf(store, head)).map(message => textOf(message).split(' x')[0])
  expect(texts).toEqual(texts.map((_, i) => `${Math.floor(i / 2)} ${i % 2 === 0 ? 'a' : 'b'}`))
  expect(texts.length % 2, 'both of a pair, or none').toBe(0)
  return texts.length / 2
}

it('backs up one moment of a busy store, with everything acknowledged before it, into a store that can be written to (R25)', {
  timeout: size({ gate: 60_000, full: 1_200_000 }),
}, async () => {
  using place = folder()
  const file = join(place.path, 'busy.db')
  await (await openSqliteStore(file)).close()
  const talkers = await Promise.all([startTalking(file), startTalking(file)])
  onTestFinished(() => Promise.all(talkers.map(talker => talker.stop())).then(() => undefined))
  const haveBegun = () => talkers.every(talker => talker.said() >= 50)
  await vi.waitUntil(haveBegun, { interval: 5, timeout: 30_000 })
  const loops = size({ gate: 5, full: 50 })
  let [most, steps, done] = [0, 0, 0]
  for (let n = 0; done < loops; n++) {
    const before = talkers.map(talker => talker.said())
    const began = performance.now()
    const to = join(place.path, `copy-${n}.db`)
    // Many small steps, so that much is written between them.
    let reached = 0
    await backupFile(file, to, {
      pagesPerStep: 20,
      onProgress: pages => {
        expect(pages, 'a writer does not restart the copy').toBeGreaterThanOrEqual(reached)
        reached = pages
        steps++
      },
    })
    most = Math.max(most, performance.now() - began)
    const after = talkers.map(talker => talker.said())
    // A backup counts if a writer was active during it. On a busy machine a short one can end before that.
    if (after.some((count, i) => count > before[i]!)) done++
    expect(statSync(to).mode & 0o777).toBe(0o600)
    await using copy = await openSqliteStore(to)
    for (const [i, { branch }] of talkers.entries()) {
      const pairs = await pairsIn(copy, branch)
      expect(pairs).toBeGreaterThanOrEqual(before[i]!)
      expect(pairs).toBeLessThanOrEqual(after[i]! + 1)
    }
    const { findings } = await copy.verify()
    expect(findings).toEqual({ damage: 0, repairable: 0, note: 0 })
    const { branch } = talkers[0]!
    const { head } = await copy.getBranch(branch)
    await copy.append(branch, head, [{ role: 'user', content: 'after the restore' }])
  }
  note('backups under two writers', loops)
  note('steps', steps)
  note('longest, ms', most)
  // The control: the bytes of the file alone are not the store, except by luck.
  let misses = 0
  for (let n = 0; n < 5; n++) {
    const plain = join(place.path, `plain-${n}.db`)
    const before = talkers.map(talker => talker.said())
    copyFileSync(file, plain)
    if (!(await isWhole(plain, before))) misses++
  }
  expect(misses).toBeGreaterThan(0)

  async function isWhole(path: string, least: readonly number[]): Promise<boolean> {
    try {
      await using copy = await openSqliteStore(path)
      for (const [i, { branch }] of talkers.entries()) {
        if ((await pairsIn(copy, branch)) < least[i]!) return false
      }
      return (await copy.verify()).findings.damage === 0
    } catch {
      return false
    }
  }
})
