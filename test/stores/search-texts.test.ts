import { expect, it } from 'vitest'
import { parseQuery } from '../../src/core/search/query.ts'
import type { Engine } from '../../src/stores/engine/engine.ts'
import type { CandidateRow, Conv } from '../../src/stores/engine/rows.ts'
import { decide } from '../../src/stores/store/search-texts.ts'

const rowOf = (seq: number): CandidateRow => {
  return { conv: 1 as Conv, conversation_id: 'c', seq, at: seq, body: null }
}

it('decides by texts that were read later, and gives way before each of them', async () => {
  let turns = 0
  const pace = {
    isDue: () => true,
    isOver: () => false,
    breathe: async () => {
      turns++
    },
  }
  const search = { engine: {} as Engine, query: parseQuery('"red panda"', new Date(0)), pace }
  const rows = [0, 1, 2, 3].map(rowOf)
  const answers = [
    { row: rows[0]!, texts: ['a red panda'], isSure: true },
    { row: rows[1]!, texts: null, isSure: false },
    { row: rows[2]!, texts: null, isSure: false },
    // Its blob is missing.
    { row: rows[3]!, texts: null, isSure: true },
  ]
  const read = new Map([
    [rows[1]!, ['panda, red']],
    [rows[2]!, ['the red panda']],
    [rows[3]!, null],
  ])
  const found = await decide(search, answers, read)
  expect(found.map(({ row }) => row.seq)).toEqual([0, 2])
  expect(found.every(({ isSure }) => isSure)).toBe(true)
  expect(turns).toBe(3)
})
