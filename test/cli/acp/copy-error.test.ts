import { expect, it } from 'vitest'
import { copyOfError, errorFromCopy } from '../../../src/cli/acp/copy-error.ts'
import {
  BusyError,
  ConflictError,
  ExpiredError,
  NotFoundError,
  SkeinError,
  UnavailableError,
} from '../../../src/core/errors.ts'
import { messageId } from '../../../src/index.ts'

const across = (error: unknown) => errorFromCopy(structuredClone(copyOfError(error)))

const holder = { host: 'here', boot: 'b', pid: 7, startedAt: 1 }
const errors = [
  new NotFoundError('conversation', 'abc', { trashed: true }),
  new ConflictError('main', null, messageId('a'.repeat(32))),
  new BusyError('branch "main"', holder, new Date(5)),
  new ExpiredError('lost', { hint: 'Do this' }),
  new UnavailableError('locked', { pid: 3 }),
]

it.each(errors)('keeps the class and the fields of $name', error => {
  const copy = across(error)
  expect(copy).toBeInstanceOf(error.constructor)
  expect(copy).toBeInstanceOf(SkeinError)
  expect({ ...copy }).toEqual({ ...error })
  expect([copy.message, copy.stack, String(copy)]).toEqual([error.message, error.stack, String(error)])
})

it('keeps causes, and the code of errors that are not ours', () => {
  const cause = Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR' })
  const copy = across(new UnavailableError('away', { cause })) as Error & { cause: Error }
  expect(copy.cause).toMatchObject({ message: 'disk I/O error', code: 'SQLITE_IOERR' })
  expect(copy.cause).not.toBeInstanceOf(SkeinError)
})

it('leaves out a field that cannot be copied', () => {
  const error = Object.assign(new Error('odd'), { retry: () => undefined, times: 2 })
  expect({ ...across(error) }).toEqual({ times: 2 })
})

it('makes an error of a value that is not one', () => {
  expect(across('words').message).toBe('words')
})
