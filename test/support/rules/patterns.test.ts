import { expect, it } from 'vitest'
import { noBarePatterns } from './patterns.ts'
import { readSources } from './source.ts'

it('no test compares a pattern with toMatchObject, which any text passes', () => {
  expect(noBarePatterns(readSources('test'))).toEqual([])
})

it('a pattern is found in an object, in one of its fields, and in a list', () => {
  const found = (text: string) => noBarePatterns([{ path: 'test/a.test.ts', text }])
  for (const text of [
    'expect(one).toMatchObject({ message: /closed/ })',
    'await expect(one).rejects.toMatchObject({ cause: { message: /closed/ } })',
    'expect(all).toMatchObject([/closed/])',
  ])
    expect(found(text), text).toEqual(['test/a.test.ts: compares nothing with /closed/'])
  for (const text of [
    'expect(one).toMatchObject({ message: expect.stringMatching(/closed/) })',
    'expect(one).toMatch(/closed/)',
    'expect(read({ message: /closed/ })).toMatchObject({ code: 1 })',
  ])
    expect(found(text), text).toEqual([])
})
