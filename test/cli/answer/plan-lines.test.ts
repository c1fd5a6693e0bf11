import { expect, it } from 'vitest'
import { planLines } from '../../../src/cli/answer/plan-lines.ts'
import { widthOf } from '../../../src/cli/output/cut.ts'
import { styleFor } from '../../../src/cli/output/style.ts'

const style = styleFor({ isTerminal: true, env: { LANG: 'C.UTF-8' }, noColor: true })
const long = 'Read the code of the payment module and find every place that assumes euro'
const wide = '通貨を含む金額に変更し、保存された行を移行する。その後テストを書き直してから実行する'
const plan = (first: string) => [
  { content: long, status: first },
  { content: wide, status: 'pending' },
]

it.each([80, 40, 20])('draws the steps of a plan below each other in %i columns', width => {
  const lines = planLines(plan('in_progress'), new Set(), { isTerminal: true, width, style })
  for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(width - 2)
  const first = lines.filter(line => /^(now: | {5}\S)/.test(line))
  expect(first.map(line => line.slice(5)).join(' ')).toBe(long)
})

it('shows a changed step in one row, and nothing that has not changed', () => {
  const [shown, output] = [new Set<string>(), { isTerminal: true, width: 40, style }]
  planLines(plan('in_progress'), shown, output)
  expect(planLines(plan('completed'), shown, output)).toEqual(['done: Read the code of the payment mo…'])
  expect(planLines(plan('completed'), shown, output)).toEqual([])
})

it('writes whole lines into a file', () => {
  const output = { isTerminal: false, width: 40, style }
  expect(planLines(plan('in_progress'), new Set(), output)).toEqual([`now: ${long}`, `plan: ${wide}`])
})
