import { describe, expect, it } from 'vitest'
import { createSerialQueue, unlessAborted } from '../../src/core/wait.ts'

describe('unlessAborted', () => {
  it('resolves with the value of the work', async () => {
    expect(await unlessAborted(Promise.resolve(1), undefined)).toBe(1)
    expect(await unlessAborted(Promise.resolve(2), new AbortController().signal)).toBe(2)
  })

  it('throws the reason of a signal that was aborted before the call, even if the work has finished', async () => {
    await expect(unlessAborted(Promise.resolve(1), AbortSignal.abort('stop'))).rejects.toBe('stop')
  })

  it('throws the reason as soon as the signal is aborted, and ignores a later failure of the work', async () => {
    const work = Promise.withResolvers<void>()
    const stop = new AbortController()
    const waited = unlessAborted(work.promise, stop.signal)
    stop.abort('stop')
    await expect(waited).rejects.toBe('stop')
    work.reject(new Error('too late'))
  })

  it('throws the error of the work', async () => {
    await expect(
      unlessAborted(Promise.reject(new Error('broken')), new AbortController().signal),
    ).rejects.toThrow('broken')
  })

  it('leaves no listener on a signal that lives long', async () => {
    const signal = new AbortController().signal
    let listeners = 0
    const add = signal.addEventListener.bind(signal)
    const remove = signal.removeEventListener.bind(signal)
    signal.addEventListener = ((...args: Parameters<typeof add>) => {
      listeners++
      add(...args)
    }) as typeof add
    signal.removeEventListener = ((...args: Parameters<typeof remove>) => {
      listeners--
      remove(...args)
    }) as typeof remove
    await unlessAborted(Promise.resolve(), signal)
    expect(listeners).toBe(0)
  })
})

describe('createSerialQueue', () => {
  it('runs tasks one after the other, in the order of the calls', async () => {
    const queue = createSerialQueue()
    const first = Promise.withResolvers<void>()
    const seen: string[] = []
    const a = queue(async () => {
      await first.promise
      seen.push('a')
    })
    const b = queue(async () => void seen.push('b'))
    first.resolve()
    await Promise.all([a, b])
    expect(seen).toEqual(['a', 'b'])
  })

  it('rejects only the promise of the task that fails', async () => {
    const queue = createSerialQueue()
    const failed = queue(() => Promise.reject(new Error('broken')))
    const next = queue(async () => 'next')
    await expect(failed).rejects.toThrow('broken')
    expect(await next).toBe('next')
  })
})
