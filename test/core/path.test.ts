import { expect, it } from 'vitest'
import { InvalidError } from '../../src/core/errors.ts'
import { pathOf } from '../../src/core/path.ts'
import type { MessageReader } from '../../src/core/ports.ts'

const id = 'a'.repeat(32)

it('pathOf reads a path through the only method it needs (S3-45)', async () => {
  const asked: string[] = []
  const reader: Pick<MessageReader, 'listPath'> = {
    listPath: async wanted => {
      asked.push(wanted)
      return { items: [], next: null, skipped: [] }
    },
  }
  expect(await pathOf(reader, id)).toEqual([])
  expect(asked).toEqual([id])
})

it('pathOf refuses an invalid message id without asking the store', async () => {
  const reader: Pick<MessageReader, 'listPath'> = { listPath: () => Promise.reject(new Error('was asked')) }
  await expect(pathOf(reader, 'abc')).rejects.toThrow(InvalidError)
})
