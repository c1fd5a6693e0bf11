import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { widthOf } from '../../../src/cli/output/cut.ts'
import { markdownPrinter } from '../../../src/cli/output/markdown-printer.ts'
import { styleFor } from '../../../src/cli/output/style.ts'

const plain = styleFor({ isTerminal: true, env: { LANG: 'C.UTF-8', NO_COLOR: '1' }, noColor: false })
const colourful = styleFor({ isTerminal: true, env: { LANG: 'C.UTF-8' }, noColor: false })

function shown(chunks: readonly string[], width = 80, style = plain): string {
  const printer = markdownPrinter(style, () => width)
  return chunks.map(chunk => printer.add(chunk)).join('') + printer.end()
}

describe('Markdown on a terminal', () => {
  it('is wrapped between words', () => {
    expect(shown(['The quick brown fox jumps'], 12)).toBe('The quick\nbrown fox\njumps')
    expect(shown(['one two\n\nthree'], 80)).toBe('one two\n\nthree')
  })

  it('keeps the indentation of a list item in the following rows', () => {
    expect(shown(['- a list item that is long\n- b'], 14)).toBe('- a list item\n  that is long\n- b')
    expect(shown(['1. first words here\n'], 10)).toBe('1. first\n   words\n   here\n')
  })

  it('prints headings and strong text in bold, without their markers', () => {
    expect(shown(['# Big *one*\nsmall **strong words** end'], 80, colourful)).toBe(
      '\x1b[1mBig\x1b[22m \x1b[1m*one*\x1b[22m\nsmall \x1b[1mstrong\x1b[22m \x1b[1mwords\x1b[22m end',
    )
    expect(shown(['`a ** b` and 2 ** 3'])).toContain('`a ** b`')
  })

  it('prints code and tables unchanged', () => {
    const code = '```ts\nconst  x = 1 // a long comment that is longer than the row\n\n  **y**\n```'
    expect(shown([`see\n${code}\nafter **it**`], 20)).toBe(`see\n${code}\nafter it`)
    const rows = '| a    | b |\n|------|---|\n| long | x |\n'
    expect(shown([rows], 8)).toBe(rows)
  })

  it('prints the same however the text is split', () => {
    const word = fc.constantFrom(
      'a',
      ' ',
      '\n',
      '**',
      '`',
      '```\n',
      '# ',
      '- ',
      'longer',
      '\r\n',
      '👩‍👩‍👧',
      '| x',
      '\t',
    )
    fc.assert(
      fc.property(fc.array(word, { maxLength: 20 }), fc.nat(60), (words, at) => {
        const all = words.join('')
        expect(shown([all.slice(0, at), all.slice(at)], 20)).toBe(shown([all], 20))
      }),
      { seed: 17, numRuns: 1_000 },
    )
  })

  it('takes a split CRLF as one line break, also in code', () => {
    expect(shown(['```\nab\r', '\ncd\n```'])).toBe('```\nab\ncd\n```')
    expect(shown(['ab\r', '\ncd'])).toBe('ab\ncd')
    expect(shown(['```\na\ud83e', '\uddf5\n```'])).toBe('```\na🧵\n```')
  })

  it('loses no letter', () => {
    const word = fc.constantFrom('ab', ' ', '\n', 'c`d', '```\n', 'x'.repeat(30), '- ', '  ')
    const letters = (text: string) => text.replace(/\s/g, '')
    fc.assert(
      fc.property(fc.array(word, { maxLength: 30 }), words => {
        const all = words.join('')
        expect(letters(shown([all], 20))).toBe(letters(all))
      }),
      { seed: 18, numRuns: 500 },
    )
  })

  it('never prints control characters, even split ones (R17)', () => {
    const hostile = fc.constantFrom(
      '\x1b',
      '[2J',
      ']52;c;x',
      '\x07',
      '\x9b',
      '\r',
      '\b',
      '\u202e',
      'a',
      ' ',
      '```\n',
      '\n',
    )
    fc.assert(
      fc.property(fc.array(hostile, { maxLength: 20 }), pieces => {
        expect(shown(pieces, 20).replaceAll(/[\n\t]/g, '')).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u)
      }),
      { seed: 19, numRuns: 1_000 },
    )
  })

  it('fits the width if the words allow it', () => {
    const text = 'words of several lengths, some 漢字 among them, and so on until the end '.repeat(5)
    const rows = shown([text], 30).split('\n')
    expect(rows.every(row => widthOf(row) <= 30)).toBe(true)
  })
})
