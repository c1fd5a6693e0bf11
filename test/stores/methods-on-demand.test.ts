import { describe, expect, it } from 'vitest'
import { callOrder, loadedPart, methodsOnDemand } from '../../src/stores/store/methods-on-demand.ts'

/** A part of one method, whose file is loaded when the test says so. */
function setUp() {
  const calls: string[] = []
  let finish: (outcome: 'loaded' | Error) => void = () => {}
  let loads = 0
  const part = loadedPart(() => {
    loads++
    return new Promise<(context: string) => { note(text: string): Promise<string> }>((resolve, reject) => {
      finish = outcome => {
        if (outcome === 'loaded') resolve(context => ({ note: async text => note(context, text) }))
        else reject(outcome)
      }
    })
  })
  function note(context: string, text: string): string {
    calls.push(`${context} ${text}`)
    return text
  }
  const order = callOrder()
  const methods = methodsOnDemand(['note'], part, 'late', order)
  return {
    calls,
    methods,
    early: (text: string) => order.inOrder(async () => note('early', text)),
    finish: (outcome: 'loaded' | Error) => finish(outcome),
    loads: () => loads,
    order,
  }
}

describe('methods on demand', () => {
  it('are loaded by the first call, once', async () => {
    const { calls, methods, finish, loads } = setUp()
    expect(loads()).toBe(0)
    const answers = [methods.note('1'), methods.note('2')]
    await new Promise(setImmediate)
    finish('loaded')
    expect(await Promise.all(answers)).toEqual(['1', '2'])
    expect(calls).toEqual(['late 1', 'late 2'])
    expect(loads()).toBe(1)
  })

  it('run at once when they are loaded', async () => {
    const { calls, methods, early, finish } = setUp()
    const first = methods.note('1')
    await new Promise(setImmediate)
    finish('loaded')
    await first
    const later = [early('2'), methods.note('3'), early('4')]
    expect(calls).toEqual(['late 1', 'early 2', 'late 3', 'early 4'])
    await Promise.all(later)
  })

  it('keep the order of all calls while a file is loaded', async () => {
    const { calls, methods, early, finish } = setUp()
    const answers = [early('1'), methods.note('2'), early('3'), methods.note('4'), early('5')]
    await new Promise(setImmediate)
    expect(calls).toEqual(['early 1'])
    finish('loaded')
    await Promise.all(answers)
    expect(calls).toEqual(['early 1', 'late 2', 'early 3', 'late 4', 'early 5'])
  })

  it('fail with the file, and try to load it again', async () => {
    const { calls, methods, early, finish, loads } = setUp()
    const failed = methods.note('1')
    const other = early('2')
    await new Promise(setImmediate)
    finish(new Error('no such file'))
    await expect(failed).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('no such file'),
    })
    await other
    const again = methods.note('3')
    await new Promise(setImmediate)
    finish('loaded')
    await again
    expect(calls).toEqual(['early 2', 'late 3'])
    expect(loads()).toBe(2)
  })

  it('are loaded one part after another', async () => {
    const { calls, methods, order, finish } = setUp()
    let finishOther = () => {}
    const other = loadedPart(
      () =>
        new Promise<() => { mark(): Promise<void> }>(resolve => {
          finishOther = () => resolve(() => ({ mark: async () => void calls.push('other') }))
        }),
    )
    const { mark } = methodsOnDemand(['mark'], other, undefined, order)
    const answers = [methods.note('1'), mark(), methods.note('2')]
    await new Promise(setImmediate)
    finish('loaded')
    await new Promise(setImmediate)
    expect(calls).toEqual(['late 1'])
    finishOther()
    await Promise.all(answers)
    expect(calls).toEqual(['late 1', 'other', 'late 2'])
  })
})
