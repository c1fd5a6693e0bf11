import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { recordTo } from '../../../src/adapters/ai-sdk/record-to.ts'
import { openStore } from '../../../src/stores/open.ts'
import { engines, freshTarget } from '../../recorder/engines.ts'
import { said, turns } from './setting.ts'

interface Process {
  readonly child: ChildProcess
  /** Reads the store for an action, and resolves when it is ready to act. */
  prepare(action: string, key: string): Promise<void>
  go(): void
  /** The next report that matches. */
  next(wanted: RegExp): Promise<string>
}

function start(args: readonly string[]): Process {
  const child = fork(join(import.meta.dirname, 'approval-child.ts'), args, { stdio: 'inherit' })
  onTestFinished(() => void child.kill('SIGKILL'))
  const next = (wanted: RegExp) =>
    new Promise<string>((resolve, reject) => {
      const ended = () => reject(new Error(`it ended before ${wanted}`))
      child.once('exit', ended)
      child.on('message', function heard(report) {
        if (!wanted.test(String(report))) return
        child.off('message', heard)
        child.off('exit', ended)
        resolve(String(report))
      })
    })
  return {
    child,
    next,
    go: () => void child.send({ action: 'go' }),
    async prepare(action, key) {
      const ready = next(/^ready$/)
      child.send({ action, key })
      await ready
    },
  }
}

/** Lets processes do the same at once, after all of them have read the store. Returns how it ended. */
async function race(action: string, key: string, ...all: readonly Process[]): Promise<readonly string[]> {
  await Promise.all(all.map(one => one.prepare(action, key)))
  const ends = all.map(one => one.next(/^done$|^refused/))
  for (const one of all) one.go()
  return (await Promise.all(ends)).sort()
}

describe.each(engines)('approvals of several processes through recordTo, on %s', engine => {
  it('are answered once, and a call runs at most once', { timeout: 120_000 }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'skein-approvals-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const files = [await freshTarget(engine), join(folder, 'log')] as const
    const [a, b] = [start(files), start(files)]
    await Promise.all([a.next(/^started$/), b.next(/^started$/)])
    await using store = await openStore(files[0])
    const state = async (key: string) => {
      const place = await recordTo(store, key).place()
      const { messages } = await store.getConversation(place.conversationId)
      return [...(await said(store, place)), ...(await turns(store, place)), messages]
    }

    expect(await race('ask', 'once', a)).toEqual(['done'])
    expect(await race('allow', 'once', a, b)).toEqual(['done', 'refused expired'])
    expect(await race('resume', 'once', a, b)).toEqual([
      'done',
      expect.stringMatching(/^refused (busy|expired)$/),
    ])
    const asked = ['user: go', 'assistant: [deploy {}]']
    const whole = [...asked, 'tool_result: deploy → deployed', 'assistant: done', 'complete main 0-3', 4]
    expect(await state('once')).toEqual(whole)

    // A process that is killed while the tool runs: the outcome is unknown, so it does not run again.
    await race('ask', 'hangs', b)
    await race('allow', 'hangs', a)
    await Promise.all([a.prepare('resume late', 'hangs'), b.prepare('resume', 'hangs')])
    const running = b.next(/^running$/)
    b.go()
    await running
    const over = once(b.child, 'exit')
    b.child.kill('SIGKILL')
    await over
    const late = a.next(/^done$|^refused/)
    a.go()
    expect(await late).toBe('refused expired')
    expect(await race('resume again', 'hangs', a)).toEqual(['done'])
    expect(await state('hangs')).toEqual([...asked, 'assistant: done', 'complete main 0-2', 3])
    expect(readFileSync(files[1], 'utf8')).toBe('once\nhangs\n')
    a.child.disconnect()
  })
})
