import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { atMost } from '../../src/agent/at-most.ts'
import { endGroup, endWithUs } from '../../src/agent/process-group.ts'

/** A process in a group of its own. */
function sleeper(script = 'exec sleep 60'): { readonly child: ChildProcess; readonly group: number } {
  const child = spawn('sh', ['-c', script], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] })
  return { child, group: child.pid! }
}

describe('a process group', () => {
  it('is asked to leave, and has gone then', async () => {
    const { child, group } = sleeper()
    endWithUs(group)
    const exited = once(child, 'exit')
    await endGroup(group, 10_000)
    expect(await exited).toEqual([null, 'SIGTERM'])
    expect(() => process.kill(-group, 0)).toThrow('ESRCH')
  })

  it('is made to leave, if it does not', async () => {
    const { child, group } = sleeper(`trap '' TERM; echo ready; sleep 60`)
    endWithUs(group)
    await once(child.stdout!, 'data')
    const exited = once(child, 'exit')
    await endGroup(group, 20)
    expect(await exited).toEqual([null, 'SIGKILL'])
  })

  it('is left alone where it was ended before: its number may be another one’s', async () => {
    const { child, group } = sleeper()
    await endGroup(group, 0)
    expect(process.kill(-group, 0)).toBe(true)
    endWithUs(group)
    const exited = once(child, 'exit')
    await Promise.all([endGroup(group, 10_000), endGroup(group, 10_000)])
    await exited
  })

  it('leaves nothing with us when it has gone', async () => {
    const before = process.listenerCount('exit')
    for (let count = 0; count < 3; count++) {
      const { group } = sleeper()
      endWithUs(group)
      expect(process.listenerCount('exit')).toBe(before + 1)
      await endGroup(group, 10_000)
    }
    expect(process.listenerCount('exit')).toBe(before)
  })
})

describe('waiting, but not for ever', () => {
  afterEach(() => void vi.useRealTimers())

  it('leaves no timer behind, which would keep the process from its end', async () => {
    vi.useFakeTimers()
    await atMost(2_000, Promise.resolve())
    expect(vi.getTimerCount()).toBe(0)
  })

  it('ends when the time is over', async () => {
    vi.useFakeTimers()
    const waited = atMost(2_000, new Promise(() => {}))
    await vi.advanceTimersByTimeAsync(2_000)
    await waited
  })
})
