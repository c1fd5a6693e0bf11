import { setImmediate as breath } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { inOrder } from '../../../src/acp/proxy/proxy.ts'

it('inOrder handles an item at once if nothing is ahead of it, keeps the order, and continues after a failure', async () => {
  const seen: number[] = []
  const failed: unknown[] = []
  const gate = Promise.withResolvers<void>()
  const push = inOrder<number>(
    async n => {
      if (n === 1) await gate.promise
      if (n === 2) throw new Error('two')
      seen.push(n)
    },
    error => failed.push(error),
  )
  for (const n of [0, 1, 2, 3]) push(n)
  await breath()
  expect(seen).toEqual([0])
  gate.resolve()
  await breath()
  push(4)
  await breath()
  expect(seen).toEqual([0, 1, 3, 4])
  expect(failed).toEqual([new Error('two')])
})

it('inOrder continues after a handler that throws synchronously, at once or behind another item', async () => {
  const seen: number[] = []
  const failed: unknown[] = []
  const gate = Promise.withResolvers<void>()
  const push = inOrder<number>(
    n => {
      if (n === 1) return gate.promise
      if (n % 2 === 0) throw new Error(String(n))
      seen.push(n)
      return undefined
    },
    error => failed.push(error),
  )
  for (const n of [0, 1, 2, 3]) push(n)
  gate.resolve()
  await breath()
  push(5)
  expect(seen).toEqual([3, 5])
  expect(failed).toEqual([new Error('0'), new Error('2')])
})
