import { expect, it } from 'vitest'
import { freeSiblingName } from '../../src/core/branch-name.ts'

it('numbers siblings from 2, and continues the number of a name that has one', () => {
  expect(freeSiblingName('main', new Set())).toBe('main-2')
  expect(freeSiblingName('main', new Set(['main-2', 'main-3']))).toBe('main-4')
  expect(freeSiblingName('main-3', new Set(['main-4']))).toBe('main-5')
  expect(freeSiblingName('a-b', new Set())).toBe('a-b-2')
})
