import { expect, it } from 'vitest'
import { InvalidError } from '../../src/core/errors.ts'
import { type PathReader, pathOf } from '../../src/core/path.ts'

const id = 'a'.repeat(32)

it('pathOf reads a path through the only method it needs (S3-45)', async () => {
  const asked: string[] = []
  const reader: PathReader = {
    listPath: async wanted => {
      asked.push(wanted)
      return { items: [], next: null, skipped: [] }
    },
  }
  expect(await pathOf(reader, id)).toEqual([])
  expect(asked).toEqual([id])
})

it('pathOf refuses an invalid message id without asking the store', async () => {
  const reader: PathReader = { listPath: () => Promise.reject(new Error('was asked')) }
  await expect(pathOf(reader, 'abc')).rejects.toThrow(InvalidError)
})
