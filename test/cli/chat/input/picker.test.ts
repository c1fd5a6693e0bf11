import { describe, expect, it } from 'vitest'
import type { Key, KeyName } from '../../../../src/cli/chat/input/key-reader.ts'
import {
  matchingChoices,
  newPicker,
  type Picker,
  type PickerChoice,
  pickerRows,
  pressKey,
} from '../../../../src/cli/chat/input/picker.ts'
import { widthOf } from '../../../../src/cli/output/cut.ts'
import { styleFor } from '../../../../src/cli/output/style.ts'

const plain = styleFor({ isTerminal: true, env: { LANG: 'C.UTF-8', NO_COLOR: '1' }, noColor: false })
const ascii = styleFor({ isTerminal: true, env: { LANG: 'C', NO_COLOR: '1' }, noColor: false })

const choice = (title: string, last: string, facts = ['now', '58', 'sonnet-4.5']): PickerChoice<string> => ({
  value: title,
  title,
  facts,
  alsoFinds: [last, '/home/ada/src/harbor'],
  details: [['last', last]],
})

const storm = choice(
  'Reconnect storm after the certificate reload',
  'Retrying with the seeded clock. The jitter test',
)
const maths = choice('Backoff maths for the mobile client', 'Full jitter wins', ['6d', '12', 'gpt-5.2'])

const some = newPicker({
  question: 'Continue which conversation?',
  choices: [storm, maths],
  total: 38,
  scope: 'this directory',
  keys: 'enter open · esc new one',
  ends: ['tab', 'forward'],
})

function typing(picker: Picker<string>, ...keys: readonly (KeyName | Key)[]): Picker<string> {
  return keys.reduce((now, one) => {
    const next = pressKey(now, typeof one === 'string' ? { type: 'key', name: one } : one)
    if (next.type === 'ended') throw new Error(`ended by ${next.by}`)
    return next.picker
  }, picker)
}

const type = (text: string): Key => ({ type: 'text', text })
const titles = (picker: Picker<string>) => matchingChoices(picker).map(({ value }) => value)

describe('a picker', () => {
  it('filters by title, last message and directory, ignoring case and order', () => {
    expect(titles(typing(some, type('JITTER')))).toEqual([storm.value, maths.value])
    expect(titles(typing(some, type('storm seeded')))).toEqual([storm.value])
    expect(titles(typing(some, type('harbor gpt')))).toEqual([])
    expect(titles(typing(some, type('storm'), 'kill-before'))).toHaveLength(2)
  })

  it('returns the selected row', () => {
    expect(pressKey(typing(some, 'down'), { type: 'key', name: 'enter' })).toMatchObject({
      by: 'enter',
      choice: maths,
    })
    expect(pressKey(typing(some, 'down', 'down', 'up'), { type: 'key', name: 'forward' })).toMatchObject({
      by: 'forward',
      choice: storm,
    })
    // Typing selects the first row again.
    expect(typing(some, 'down', type('maths')).at).toBe(0)
  })

  it('ends at Escape and Ctrl+C, but not at Enter without a match', () => {
    for (const name of ['escape', 'interrupt', 'end-of-input'] as const)
      expect(pressKey(some, { type: 'key', name })).toMatchObject({ by: 'escape' })
    expect(typing(some, type('nothing like it'), 'enter', 'forward').at).toBe(0)
    expect(pressKey(some, { type: 'key', name: 'read' }).type).toBe('going')
  })

  it('prints question, rows, details and key bindings', () => {
    expect(pickerRows(typing(some, type('jit')), 80, 24, plain).rows).toEqual([
      'Continue which conversation?  jit                          this directory  2/38',
      '› Reconnect storm after the certificate reload              now  58  sonnet-4.5',
      '    last   Retrying with the seeded clock. The jitter test',
      '  Backoff maths for the mobile client                        6d  12  gpt-5.2',
      'enter open · esc new one',
    ])
  })

  it('fits every width, and prints no control characters (R17)', () => {
    const evil = choice(
      '\x1b[2J evil \u202e title that is very long indeed, longer than most',
      '\x07 words \x1b]0;x\x07',
    )
    for (const width of [24, 40, 44, 64, 80, 120]) {
      const { rows } = pickerRows({ ...some, choices: [evil, storm] }, width, 10, plain)
      expect(rows.every(row => widthOf(row) < width)).toBe(true)
      expect(rows.join('')).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u)
    }
    expect(pickerRows(some, 80, 24, ascii).rows[1]).toMatch(/^> /)
  })

  it('shows the rows around the selection if there are many', () => {
    const many = { ...some, choices: Array.from({ length: 100 }, (_, n) => choice(`number ${n}`, '')) }
    const far = { ...many, at: 50 }
    const { rows } = pickerRows(far, 80, 12, plain)
    expect(rows.length).toBeLessThanOrEqual(12)
    expect(rows.some(row => row.startsWith('› number 50'))).toBe(true)
  })
})
