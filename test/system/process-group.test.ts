import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { atMost } from '../../src/system/at-most.ts'
import { endGroup, endWithUs } from '../../src/system/process-group.ts'

/** A process in a group of its own. */
function sleeper(script = 'exec sleep 60'): { readonly child: ChildProcess; readonly group: number } {
  const child = spawn('sh', ['-c', script], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] })
  return { child, group: child.pid! }
}

describe('endGroup', () => {
  it('sends SIGTERM and resolves when the group is gone', async () => {
    const { child, group } = sleeper()
    endWithUs(group)
    const exited = once(child, 'exit')
    await endGroup(group, 10_000)
    expect(await exited).toEqual([null, 'SIGTERM'])
    expect(() => process.kill(-group, 0)).toThrow('ESRCH')
  })

  it('sends SIGKILL to a group that ignores SIGTERM', async () => {
    const { child, group } = sleeper(`trap '' TERM; echo ready; sleep 60`)
    endWithUs(group)
    await once(child.stdout!, 'data')
    const exited = once(child, 'exit')
    await endGroup(group, 20)
    expect(await exited).toEqual([null, 'SIGKILL'])
  })

  it('leaves a group alone that is not registered, because its id may have been reused', async () => {
    const { child, group } = sleeper()
    await endGroup(group, 0)
    expect(process.kill(-group, 0)).toBe(true)
    endWithUs(group)
    const exited = once(child, 'exit')
    await Promise.all([endGroup(group, 10_000), endGroup(group, 10_000)])
    await exited
  })

  it('removes its exit listener when the last group is gone', async () => {
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

describe('atMost', () => {
  afterEach(() => void vi.useRealTimers())

  it('leaves no timer behind that would keep the process alive', async () => {
    vi.useFakeTimers()
    await atMost(2_000, Promise.resolve())
    expect(vi.getTimerCount()).toBe(0)
  })

  it('resolves when the time is over', async () => {
    vi.useFakeTimers()
    const waited = atMost(2_000, new Promise(() => {}))
    await vi.advanceTimersByTimeAsync(2_000)
    await waited
  })
})
