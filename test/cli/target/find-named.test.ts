import { describe, expect, it } from 'vitest'
import { looksLikeId } from '../../../src/cli/target/find-named.ts'

describe('looksLikeId', () => {
  it('accepts words that cannot be words of a language', () => {
    const ids = ['q2w6nb', 'q2w5', '0f3a99', '3f2a1b4c-11', 'a'.repeat(32), 'q2w6nb:main', 'cli:work']
    const words = ['explain', 'hello', 'why', 'q2w6nb:', 'v2', 'über22', 'build-it', 'a:b']
    expect(ids.map(looksLikeId)).toEqual(ids.map(() => true))
    expect(words.map(looksLikeId)).toEqual(words.map(() => false))
  })
})
