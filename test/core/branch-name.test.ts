import { expect, it } from 'vitest'
import { branchNameFrom, freeSiblingName, numberedNames } from '../../src/core/branch-name.ts'

it('numbers siblings from 2, and continues the number of a name that has one', () => {
  expect(freeSiblingName('main', new Set())).toBe('main-2')
  expect(freeSiblingName('main', new Set(['main-2', 'main-3']))).toBe('main-4')
  expect(freeSiblingName('main-3', new Set(['main-4']))).toBe('main-5')
  expect(freeSiblingName('a-b', new Set())).toBe('a-b-2')
})

it('names a branch after the first words of a text, in any script', () => {
  const names = {
    'Use full jitter with a 30 s cap, and keep sockets alive': 'use-full-jitter',
    'Use full jitter': 'use-full-jitter',
    'Fix issue #12!': 'fix-issue-12',
    '  /etc/hosts: why?': 'etc-hosts-why',
    'Grüße aus Köln': 'grüße-aus-köln',
    'почему упала сборка?': 'почему-упала-сборка',
    日志里说什么: '日志里说什么',
    'क्या हाल है': 'क्या-हाल-है',
    'to be or': 'to-be',
    'Donaudampfschifffahrtsgesellschaft it is': 'donaudampfschifffahrtsge',
  }
  for (const [text, name] of Object.entries(names)) expect(branchNameFrom(text), text).toBe(name)
  for (const text of ['', ' ', '🙂 !!!', '\u001b[2J', '\u202e…']) {
    expect(branchNameFrom(text) ?? '', text).toMatch(/^(2j)?$/)
  }
  // 24 characters at most, no control characters, and no mark without its letter.
  for (const text of [
    'ก็'.repeat(40),
    'e\u0301'.repeat(60),
    'x\u200dy\u202ez\u0007'.repeat(20),
    '👍🏽word '.repeat(30),
  ]) {
    const name = branchNameFrom(text)!
    expect([...name].length).toBeLessThanOrEqual(24)
    expect(name).toMatch(/^[\p{L}\p{N}][\p{L}\p{M}\p{N}-]*$/u)
  }
})

it('numbers a name that is taken, within the same length', () => {
  const first = (name: string, count: number) => {
    const names = numberedNames(name)
    return Array.from({ length: count }, () => names.next().value)
  }
  expect(first('use-full-jitter', 3)).toEqual(['use-full-jitter', 'use-full-jitter-2', 'use-full-jitter-3'])
  // The number of a text is not a number of a branch.
  expect(first('fix-issue-12', 2)).toEqual(['fix-issue-12', 'fix-issue-12-2'])
  const long = first('a'.repeat(24), 12)
  expect(long[1]).toBe(`${'a'.repeat(22)}-2`)
  expect(long.every(name => name.length <= 24)).toBe(true)
})
