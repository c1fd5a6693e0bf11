import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { BranchRef } from '../../src/core/branch.ts'
import { textOf } from '../../src/core/message.ts'
import { collectPages } from '../../src/core/pages.ts'
import { pathOf } from '../../src/core/path.ts'
import type { Store } from '../../src/core/ports.ts'
import { beginTurn, type RecorderSource, systemRecorderSource } from '../../src/recorder/index.ts'
import { openStore } from '../../src/stores/open.ts'
import { engines, freshTarget } from './engines.ts'
import { answer, final, type Line, type Point, question } from './mortal.ts'

/** This process is half a minute and a second ahead of the frozen one. */
const now = () => Date.now() + 31_000
// As a process of another host, which cannot see that the frozen one lives.
const later: RecorderSource = { ...systemRecorderSource, now, isVisible: () => false }

/** A process that records a turn and is stopped in the middle, like a laptop that is closed. */
async function frozenAt(point: Point, target: string, branch: BranchRef) {
  const script = fileURLToPath(new URL('mortal.ts', import.meta.url))
  const child = spawn(process.execPath, [script, target, JSON.stringify(branch), point], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  await until(line => 'point' in line && line.point === point)
  child.kill('SIGSTOP')
  return {
    async thaw() {
      child.kill('SIGCONT')
      child.stdin.write('go\n')
      const line = await until(line => 'ended' in line)
      child.stdin.end()
      await once(child, 'close')
      return line as Extract<Line, { ended: unknown }>
    },
  }

  async function until(found: (line: Line) => boolean): Promise<Line> {
    for (;;) {
      const { value, done } = await lines.next()
      if (done) throw new Error(`the process ended before ${point}`)
      const line = JSON.parse(value) as Line
      if (found(line)) return line
    }
  }
}

async function said(store: Store, branch: BranchRef): Promise<readonly string[]> {
  const { head } = await store.getBranch(branch)
  return (await pathOf(store, head!)).filter(({ role }) => role !== 'tool_result').map(textOf)
}

describe.each(engines)('a recorder that is frozen and thawed on %s', engine => {
  it.each(['before the answer is stored', 'after a tool was started'] as const)(
    '%s forks next to the turn of the other process, and both turns are complete (R8)',
    async point => {
      const target = await freshTarget(engine)
      const store = await openStore(target, { source: { now, uuid: () => crypto.randomUUID() } })
      onTestFinished(() => store.close())
      const { branch } = await store.create()
      const frozen = await frozenAt(point, target, branch)

      const mine = await beginTurn(store, branch, { words: [{ role: 'user', content: 'Mine.' }] }, later)
      expect(mine.forked).toBe(false)
      const { ended, troubles } = await frozen.thaw()
      await mine.add([{ role: 'assistant', content: 'Yours.' }])
      expect(await mine.end('complete')).toMatchObject({ saved: true, status: 'complete' })

      // A write that the freeze interrupted for more than two seconds counts as an outage that is over.
      const outage = ['degraded', 'recovered']
      expect(troubles.filter(kind => !outage.includes(kind))).toEqual(['taken_over'])
      expect(ended).toMatchObject({ saved: true, status: 'complete', branch: { name: 'main-2' } })
      expect(await said(store, ended.branch)).toEqual([question, answer, final])
      const ours = await said(store, branch)
      expect([ours[0], ...ours.slice(-2)]).toEqual([question, 'Mine.', 'Yours.'])
      const turns = await collectPages(page => store.listTurns(branch.conversationId, page))
      expect(turns.map(({ status }) => status)).toEqual(['interrupted', 'complete', 'complete'])
    },
  )
})
