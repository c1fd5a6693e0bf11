import { setImmediate as breath } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { inOrder } from '../../../src/acp/proxy/in-order.ts'

it('handles at once what nothing holds up, and the rest in order; what fails holds up nothing', async () => {
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
