import { describe, expect, it } from 'vitest'
import { InvalidError } from '../../src/core/errors.ts'
import { conversationId, messageId } from '../../src/core/ids.ts'

describe('conversationId', () => {
  it('accepts a UUID in any case and returns it in lower case', () => {
    expect(conversationId('0B6F54A1-9DB1-4E7C-8F3A-5D2C7E9A1B04')).toBe(
      '0b6f54a1-9db1-4e7c-8f3a-5d2c7e9a1b04',
    )
  })

  it.each([
    ['', 'nothing'],
    ['0b6f54a1', 'a prefix'],
    ['0b6f54a19db14e7c8f3a5d2c7e9a1b04', 'one without dashes'],
    ['0b6f54a1-9db1-4e7c-8f3a-5d2c7e9a1b04\n', 'a line'],
    ['{0b6f54a1-9db1-4e7c-8f3a-5d2c7e9a1b04}', 'one in braces'],
    ['0b6f54a1-9db1-4e7c-8f3a-5d2c7e9a1b0g', 'a letter beyond f'],
  ])('refuses %j (%s)', text => {
    expect(() => conversationId(text)).toThrow(InvalidError)
  })

  it('refuses values that are not text and names the field', () => {
    expect(() => conversationId(7 as unknown as string, 'parent')).toThrow('parent: must be a UUID')
    expect(() => conversationId(null as unknown as string)).toThrow(InvalidError)
  })
})

describe('messageId', () => {
  it('accepts 32 characters of base32', () => {
    expect(messageId('abcdefghijklmnopqrstuvwxyz234567')).toBe('abcdefghijklmnopqrstuvwxyz234567')
  })

  it.each(['', 'a'.repeat(31), 'a'.repeat(33), 'A'.repeat(32), '1'.repeat(32), `${'a'.repeat(32)}\n`])(
    'refuses %j',
    text => {
      expect(() => messageId(text)).toThrow(InvalidError)
    },
  )

  it('refuses values that are not text and names the field', () => {
    expect(() => messageId(undefined as unknown as string, 'head')).toThrow('head: must be 32 characters')
  })
})
