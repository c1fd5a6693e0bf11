import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { widthOf } from '../../../src/cli/output/cut.ts'
import { markdownPrinter } from '../../../src/cli/output/markdown-printer.ts'
import { styleFor } from '../../../src/cli/output/style.ts'
import { type Highlighter, highlightCode } from '../../../src/render/highlight.ts'

const plain = styleFor({ isTerminal: true, env: { LANG: 'C.UTF-8', NO_COLOR: '1' }, noColor: false })
const colourful = styleFor({ isTerminal: true, env: { LANG: 'C.UTF-8' }, noColor: false })

function shown(
  chunks: readonly string[],
  width = 80,
  style = plain,
  highlight: Highlighter | null = null,
): string {
  const printer = markdownPrinter({ style, width: () => width, highlight: () => highlight })
  return chunks.map(chunk => printer.add(chunk)).join('') + printer.end()
}

describe('Markdown on a terminal', () => {
  it('is wrapped between words', () => {
    expect(shown(['The quick brown fox jumps'], 12)).toBe('The quick\nbrown fox\njumps')
    expect(shown(['one two\n\nthree'], 80)).toBe('one two\n\nthree')
  })

  it('keeps the indentation of a list item in the following rows', () => {
    expect(shown(['- a list item that is long\n- b'], 14)).toBe('• a list item\n  that is long\n• b')
    expect(shown(['1. first words here\n'], 15)).toBe('1. first words\n   here')
    expect(shown(['- [ ] open\n- [x] done\n  1. inner'])).toBe('☐ open\n☑ done\n  1. inner')
  })

  it('draws spans in colour, without their signs', () => {
    expect(shown(['## Big *one*\nsmall **strong words** end'], 80, colourful)).toBe(
      '\x1b[1mBig \x1b[22m\x1b[3m\x1b[1mone\x1b[22m\x1b[23m\nsmall \x1b[1mstrong words\x1b[22m end',
    )
    expect(shown(['~~gone~~ `a ** b` and 2 ** 3'], 80, colourful)).toBe(
      '\x1b[9mgone\x1b[29m \x1b[36ma ** b\x1b[39m and 2 ** 3',
    )
  })

  it('keeps the signs of headings and code without colours', () => {
    expect(shown(['## Big **one** `a b`'])).toBe('## Big one `a b`')
  })

  it('prints code unchanged, however long its lines are', () => {
    const code = '```ts\nconst  x = 1 // a long comment that is longer than the row\n\n  **y**\n```'
    expect(shown([`see\n${code}\nafter **it**`], 20)).toBe(`see\n${code}\nafter it`)
  })

  it('colours code, also in a list', () => {
    const highlighted = [...'1. see\n   ```ts\n   return 1\n   ```\n']
    expect(shown(highlighted, 80, colourful, highlightCode)).toContain(
      '   \x1b[35mreturn\x1b[39m \x1b[36m1\x1b[39m',
    )
  })

  it('aligns the columns of a table, and wraps them to the width', () => {
    const table = '| name | size |\n|---|--:|\n| a | 1,024 |\n| a long name of a file | 2 |\n'
    expect(shown([table])).toBe(
      [
        'name                  │  size',
        '──────────────────────┼──────',
        'a                     │ 1,024',
        'a long name of a file │     2',
      ].join('\n'),
    )
    expect(shown([table], 20)).toBe(
      [
        'name         │  size',
        '─────────────┼──────',
        'a            │ 1,024',
        'a long name  │     2',
        'of a file    │ ',
      ].join('\n'),
    )
  })

  it('draws a table with too many columns as lists of cells', () => {
    const table = '| a | b | c |\n|---|---|---|\n| first words | second words | third words |'
    expect(shown([table], 16)).toBe('a: first words\nb: second words\nc: third words')
  })

  it('draws quotations with a bar, and rules', () => {
    expect(shown(['> a quotation of words\n> - x\n\n---\nend'], 14)).toBe(
      '│ a quotation\n│ of words\n│ • x\n\n──────────────\nend',
    )
  })

  it('shows the target of a link where the terminal cannot open it', () => {
    expect(shown(['[the page](https://a.example/b) and https://c.example'])).toBe(
      'the page (https://a.example/b) and https://c.example',
    )
    const env = { LANG: 'C.UTF-8', TERM_PROGRAM: 'ghostty' }
    const clickable = styleFor({ isTerminal: true, env, noColor: false })
    expect(shown(['[page](https://a.example)'], 80, clickable)).toBe(
      '\x1b]8;;https://a.example\x1b\\\x1b[4mpage\x1b[24m\x1b]8;;\x1b\\',
    )
    expect(shown(['[x](javascript:alert(1))'], 80, clickable)).toBe('[x](javascript:alert(1))')
  })

  it('shows HTML and link references as text', () => {
    expect(shown(['<b>x</b> [a][1]\n\n<div>\n\n[1]: https://a.example'])).toBe(
      '<b>x</b> [a][1]\n\n<div>\n\n[1]: https://a.example',
    )
  })

  it('wraps scripts without spaces, and does not begin a row with closing punctuation', () => {
    expect(shown(['東京は日本の首都です。大きい'], 20)).toBe('東京は日本の首都で\nす。大きい')
  })

  it('shows words before their paragraph ends, and holds back only open signs', () => {
    const printer = markdownPrinter({ style: plain, width: () => 80, highlight: () => null })
    expect(printer.add('some words and **bold')).toBe('some words and')
    expect(printer.add(' text** end')).toBe(' bold text')
    expect(printer.add('. More\n\n- it')).toBe(' end. More')
    expect(printer.add('em one ')).toBe('\n\n• item one')
    expect(printer.end()).toBe('')
  })

  it('shows a sign that is never closed as text, after a limit', () => {
    const printer = markdownPrinter({ style: plain, width: () => 1_000, highlight: () => null })
    const words = 'words '.repeat(100)
    expect(printer.add(`a *b ${words}`)).toContain('a *b words words')
    expect(`${printer.add('end* of it')}${printer.end()}`).toMatch(/end\* of it$/)
  })

  it('prints the same however the text is split', () => {
    const word = fc.constantFrom(
      ...['a', ' ', '\n', '**', '`', '```\n', '# ', '- ', 'longer', '\r\n', '👩‍👩‍👧', '| x', '\t'],
      ...['> ', '1. ', '[', '](https://a.b)', '_', '~~', '|-|\n', '---\n', '漢', '\n\n', '  '],
    )
    fc.assert(
      fc.property(fc.array(word, { maxLength: 20 }), fc.nat(60), (words, at) => {
        const all = words.join('')
        expect(shown([all.slice(0, at), all.slice(at)], 20)).toBe(shown([all], 20))
      }),
      { seed: 17, numRuns: 500 },
    )
  })

  it('takes a split CRLF as one line break, also in code', () => {
    expect(shown(['```\nab\r', '\ncd\n```'])).toBe('```\nab\ncd\n```')
    expect(shown(['ab\r', '\ncd'])).toBe('ab\ncd')
    expect(shown(['```\na\ud83e', '\uddf5\n```'])).toBe('```\na🧵\n```')
  })

  it('loses no letter, and prints none twice', () => {
    const word = fc.constantFrom(
      ...['ab', ' ', '\n', 'c`d', '```\n', 'x'.repeat(30), '- ', '  ', '**', '*', '_', '[e](', ')', '> '],
      ...['| f', '|-|\n', '# ', '1. ', '\n\n', '===\n', 'g**h'],
    )
    const letters = (text: string) => text.replace(/[^a-z]/g, '')
    fc.assert(
      fc.property(fc.array(word, { maxLength: 30 }), words => {
        const all = words.join('')
        expect(letters(shown([...all], 20))).toBe(letters(all))
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
