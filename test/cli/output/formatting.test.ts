import fc from 'fast-check'
import stringWidth from 'string-width'
import { describe, expect, test } from 'vitest'
import { reportError } from '../../../src/cli/command-line/error-report.ts'
import { UsageError } from '../../../src/cli/command-line/usage-error.ts'
import { cut, cutLineMiddle, padEnd, widthOf } from '../../../src/cli/output/cut.ts'
import { wrapPieces } from '../../../src/cli/output/drawn-row.ts'
import {
  formatBytes,
  formatCount,
  formatInteger,
  formatMoney,
  plural,
} from '../../../src/cli/output/number.ts'
import { noteLine } from '../../../src/cli/output/print.ts'
import { shortIds } from '../../../src/cli/output/short-id.ts'
import { styleFor } from '../../../src/cli/output/style.ts'
import { tableLines } from '../../../src/cli/output/table.ts'
import { formatAge, formatDuration, formatTime } from '../../../src/cli/output/time.ts'
import { wrap } from '../../../src/cli/output/wrap.ts'
import type { Block } from '../../../src/core/block.ts'
import { collapseSpaces } from '../../../src/core/collapse-spaces.ts'
import { gistOf } from '../../../src/core/gist.ts'
import { memoryOutput } from '../memory-output.ts'

const seed = 41

describe('the gist of a message', () => {
  test('has all its texts, and otherwise what it contains', () => {
    const text = (words: string) => ({ type: 'text', text: words }) as const
    const call = { type: 'tool_call', callId: 'c', name: 'grep', input: { query: 'jitter' } } as const
    const gist = (...content: readonly Block[]) => gistOf({ content, erased: null })
    expect(gist(text('First I\nlook.'), call, text(' Use full jitter. '))).toBe(
      'First I look. Use full jitter.',
    )
    expect(gist(call, text(' '))).toBe('grep jitter')
    expect(gist()).toBe('(empty)')
  })
})

describe('times', () => {
  const now = new Date(2026, 10, 16, 12, 0, 0)
  test.each([
    [0, 'now'],
    [59_000, 'now'],
    [-5000, 'now'],
    [60_000, '1m'],
    [59 * 60_000, '59m'],
    [3 * 3_600_000, '3h'],
    [2 * 86_400_000, '2d'],
    [7 * 86_400_000, '9 Nov'],
    [365 * 86_400_000, 'Nov 2025'],
  ])('%d ms ago is %s', (ms, said) => expect(formatAge(new Date(now.getTime() - ms), now)).toBe(said))

  test('a date and time is local and sorts as text', () =>
    expect(formatTime(new Date(2026, 0, 4, 7, 2))).toBe('2026-01-04 07:02'))

  test.each([
    [4, '4 ms'],
    [1800, '1.8 s'],
    [9000, '9 s'],
    [9990, '10 s'],
    [125_000, '2m 5s'],
    [12_000_000, '3h 20m'],
  ])('%d ms take %s', (ms, said) => expect(formatDuration(ms)).toBe(said))
})

describe('numbers', () => {
  test.each([
    [0, '0'],
    [812, '812'],
    [999, '999'],
    [8100, '8.1k'],
    [9960, '10k'],
    [74_300, '74k'],
    [999_499, '999k'],
    [999_500, '1M'],
    [1_200_000, '1.2M'],
  ])('%d tokens are %s', (n, said) => expect(formatCount(n)).toBe(said))

  test('sizes, integers and plurals are formatted', () => {
    expect([formatBytes(0), formatBytes(148_000), formatBytes(4_200_000)]).toEqual([
      '0 B',
      '148 kB',
      '4.2 MB',
    ])
    expect([formatInteger(1204), formatInteger(12), formatInteger(1_000_000)]).toEqual([
      '1,204',
      '12',
      '1,000,000',
    ])
    expect([plural(1, 'message'), plural(0, 'message'), plural(2, 'branch', 'branches')]).toEqual([
      '1 message',
      '0 messages',
      '2 branches',
    ])
  })

  test('an unknown price is left out, and never shown as zero', () =>
    expect([
      formatMoney(null),
      formatMoney(0),
      formatMoney(0.001),
      formatMoney(0.0049),
      formatMoney(0.04),
      formatMoney(1402.1),
    ]).toEqual(['', 'free', '<$0.01', '<$0.01', '$0.04', '$1,402.10']))
})

describe('cutting', () => {
  test('keeps a text that fits, and ends a longer one with dots', () => {
    expect(cut('four', 4)).toBe('four')
    expect(cut('fives', 4)).toBe('fiv…')
    expect(cut('No problem! What about', 12, '...')).toBe('No proble...')
    expect(cutLineMiddle('/home/ada/src/harbor/gateway', 15)).toBe('/home/a…gateway')
    expect(collapseSpaces(' one\n\n two\tthree ')).toBe('one two three')
  })

  test('never splits a family, a flag or an accent', () => {
    expect(cut('ab👨‍👩‍👧cd', 4)).toBe('ab…')
    expect(cut('ab👨‍👩‍👧cd', 5)).toBe('ab👨‍👩‍👧…')
    expect(cut('e\u0301e\u0301e\u0301', 2)).toBe('e\u0301…')
    expect(cut('漢字漢字', 5)).toBe('漢字…')
  })

  test('measures simple characters as the full measurement does', () => {
    for (let code = 0x20; code < 0x3000; code++) {
      const text = `a${String.fromCharCode(code)}b`
      if (!/\p{Cc}/u.test(text)) expect([code, widthOf(text)]).toEqual([code, stringWidth(text)])
    }
  })

  test('counts no cells for colours, whatever they surround', () => {
    const { id, title, match, faint } = styleFor({ isTerminal: true, env: {}, noColor: false })
    for (const text of ['plain', 'naïve', '漢字', '👨‍👩‍👧', '']) {
      const painted = `${id(text)} ${title(faint(text))} ${match(text)}`
      expect(painted.includes('\x1b')).toBe(text !== '')
      expect(widthOf(painted)).toBe(stringWidth(painted))
    }
  })

  test('is never wider than requested, for any text', () =>
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme' }),
        fc.integer({ min: 1, max: 40 }),
        (text, width) =>
          widthOf(cut(text, width)) <= width &&
          widthOf(cutLineMiddle(text.replace(/\s/g, ''), width)) <= width,
      ),
      { seed },
    ))
})

describe('wrapping', () => {
  test('breaks between words, and keeps indentation and line breaks', () => {
    expect(wrap('the quick brown fox\n\n  jumps over the dog', 12)).toEqual([
      'the quick',
      'brown fox',
      '',
      '  jumps over',
      '  the dog',
    ])
    expect(wrap('https://example.org/a/long/one', 10)).toEqual(['https://ex', 'ample.org/', 'a/long/one'])
    expect(wrap('', 10)).toEqual([''])
  })

  test('makes no line wider than requested, and loses no word', () =>
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 2, max: 60 }), (text, width) => {
        const clean = text.replace(/\p{Cc}/gu, ' ')
        const lines = wrap(clean, width)
        expect(lines.every(line => widthOf(line) <= width)).toBe(true)
        expect(lines.join('').replace(/\s/g, '')).toBe(clean.replace(/\s/g, ''))
      }),
      { seed },
    ))
})

describe('tables', () => {
  const rows = [
    ['a7xk5f', 'Reconnect storm after the certificate reload', 'now', '58'],
    ['u6r2cw', 'Ports 漢字', '9 Nov', '1204'],
  ]
  const columns = [
    { header: 'ID' },
    { header: 'TITLE', shrinksTo: 8, grows: true as const },
    { header: 'AGE', align: 'right' as const },
    { header: 'MSGS', align: 'right' as const },
  ]

  test.each([40, 44, 64, 80, 100, 120])('fits %d columns and is aligned', width => {
    const lines = tableLines(rows, columns, width)
    expect(lines.every(line => widthOf(line) === width)).toBe(true)
    expect(lines[2]).toContain('Ports 漢字')
  })

  test('shrinks only the columns that may shrink', () =>
    expect(tableLines(rows, columns, 10)[1]).toBe('a7xk5f  Reconne…    now    58'))

  test('leaves out a column that may be dropped, if the others do not fit with it', () => {
    const dropping = columns.map((column, i) =>
      i === columns.length - 1 ? { ...column, drops: true as const } : column,
    )
    expect(tableLines(rows, dropping, 24)[1]).toBe('a7xk5f  Reconnec…    now')
    expect(tableLines(rows, dropping, 60)[1]).toMatch(/58$/)
  })

  test('ignores colours when it aligns', () => {
    const painted = tableLines(rows, [{ paint: text => `\x1b[36m${text}\x1b[39m` }, ...columns.slice(1)], 60)
    expect(painted[1]!.startsWith('\x1b[36ma7xk5f\x1b[39m  Reconnect')).toBe(true)
    expect(widthOf(padEnd(painted[1]!, 60))).toBe(60)
  })
})

describe('short ids', () => {
  test('have six characters, more if two begin alike, and no dash at the end', () => {
    const ids = [
      'q2w6nbaaaa',
      'q2w6nbabbb',
      'zzzzzzzz',
      '019a8c3e-aaaa-7000-8000-000000000001',
      '019a8c3e-baaa-7000-8000-000000000001',
    ]
    expect([...shortIds(ids).values()].sort()).toEqual(
      ['q2w6nbaa', 'q2w6nbab', 'zzzzzz', '019a8c3e-a', '019a8c3e-b'].sort(),
    )
    expect(shortIds(['019a8c3e-aaaa', '019a8c3f-aaaa']).get('019a8c3e-aaaa')).toBe('019a8c3e')
    expect(shortIds(['abcdefgh', 'abcdefgh']).size).toBe(1)
  })
})

describe('style.safe', () => {
  test('replaces exactly the characters that control a terminal (R17)', () => {
    const { safe } = styleFor({ isTerminal: true, env: { LANG: 'C.UTF-8' }, noColor: false })
    for (let code = 0; code < 0x1_0000; code++) {
      const text = `a${String.fromCharCode(code)}b`
      const drives = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\ufeff]/u.test(text) && !/[\n\t]/.test(text)
      if ((safe(text) !== text) !== drives) expect.fail(`U+${code.toString(16)}`)
    }
  })
})

describe('a note on a terminal', () => {
  const note =
    'not saved yet: another process (pid 4121) is using the store: /home/ada/.local/share/skein/conversations.db. If it hangs: kill 4121'
  const style = styleFor({ isTerminal: true, env: { LANG: 'C.UTF-8' }, noColor: false })
  const output = (width: number, isTerminal = true) => ({ ...memoryOutput(width), isTerminal, style })

  test.each([40, 80, 120])('is wrapped between words at %d columns, and indented', width => {
    const err = output(width)
    err.line(noteLine(note, err))
    reportError(new UsageError(note.replace('not', 'Not'), 'Try again'), err)
    const rows = err.written.join('').trimEnd().split('\n')
    for (const row of rows) expect(widthOf(row)).toBeLessThanOrEqual(width)
    expect(rows.filter(row => !row.startsWith('  '))).toHaveLength(2)
    // Only a word that is longer than a row is split.
    const words = rows.flatMap(row => row.trim().split(' '))
    const whole = note.split(' ').filter(word => word.length <= width - 2)
    expect(words).toEqual(expect.arrayContaining(whole))
  })

  test('is one line without a terminal', () => {
    expect(noteLine(note, output(40, false))).not.toContain('\n')
  })
})

test('a space before an ideograph stays', () => {
  const paint = (text: string) => text
  const rows = wrapPieces([{ text: 'See this. 你好 🎉', paint }], { width: 12 })
  expect(rows.map(row => row.map(({ text }) => text).join(''))).toEqual(['See this. 你', '好 🎉'])
})
