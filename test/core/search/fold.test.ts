import { expect, it } from 'vitest'
import { fold } from '../../../src/core/search/fold.ts'

it.each([
  ['Hello, World_1!', 'hello, world_1!'],
  ['Caf\u00e9 \u2014 CAFE\u0301', 'cafe \u2014 cafe'],
  ['Stra\u00dfe \u0130', 'strasse i'],
  ['日本 \u1112\u1161\u11ab が', '日本 한 が'],
  ['か\u3099', 'が'],
  ['🎉\ufe0f 50\u202f%', '🎉 50\u202f%'],
  ['a\ud800b', 'a\ufffdb'],
])('folds %j to %j', (text, expected) => expect(fold(text)).toBe(expected))
