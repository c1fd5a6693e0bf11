import { describe, expect, it } from 'vitest'
import { completeLine, fittingCandidates } from '../../../../src/cli/chat/input/complete-line.ts'
import {
  applyKey,
  continueLine,
  emptyInput,
  type InputLine,
  inputLine,
  inputText,
  moveByRow,
} from '../../../../src/cli/chat/input/input-line.ts'
import type { Key, KeyName } from '../../../../src/cli/chat/input/key-reader.ts'
import { clipLayout, layOutLine } from '../../../../src/cli/chat/input/screen-layout.ts'
import { widthOf } from '../../../../src/cli/output/cut.ts'
import { styleFor } from '../../../../src/cli/output/style.ts'

const plain = styleFor({ isTerminal: true, env: { LANG: 'C.UTF-8', NO_COLOR: '1' }, noColor: false })

const key = (name: KeyName): Key => ({ type: 'key', name })
const type = (text: string): Key => ({ type: 'text', text })
const paste = (text: string): Key => ({ type: 'paste', text })

function typed(...keys: readonly (Key | KeyName)[]): InputLine {
  return keys.reduce<InputLine>(
    (line, one) => applyKey(line, typeof one === 'string' ? key(one) : one),
    emptyInput,
  )
}

/** The text with the cursor in it. */
function shown({ cells, at }: InputLine): string {
  const values = cells.map(({ value }) => value)
  return `${values.slice(0, at).join('')}|${values.slice(at).join('')}`
}

describe('an input line', () => {
  it('inserts text at the cursor', () => {
    expect(shown(typed(type('helo'), 'left', type('l')))).toBe('hell|o')
  })

  it('moves the cursor by graphemes', () => {
    expect(shown(typed(type('a👩‍👩‍👧e\u0301'), 'left', 'left'))).toBe('a|👩‍👩‍👧e\u0301')
    expect(inputText(typed(type('a👩‍👩‍👧'), 'backspace'))).toBe('a')
  })

  it('moves and cuts by words and rows', () => {
    expect(shown(typed(type('one two three'), 'word-left', 'word-left'))).toBe('one |two three')
    expect(shown(typed(type('one two'), 'kill-word'))).toBe('one |')
    expect(shown(typed(type('one two'), 'kill-word', 'home', 'yank'))).toBe('two|one ')
    expect(shown(typed(type('one'), 'newline', type('two'), 'home'))).toBe('one\n|two')
    expect(shown(typed(type('one'), 'newline', type('two'), 'kill-before'))).toBe('one\n|')
    expect(shown(typed(type('one'), 'home', 'kill-after'))).toBe('|')
    expect(shown(typed('backspace', 'delete', 'left', 'right', 'up'))).toBe('|')
  })

  it('moves between rows, and returns null at the first and last row', () => {
    const two = typed(type('long row'), 'newline', type('ab'))
    expect(shown(moveByRow(two, -1)!)).toBe('lo|ng row\nab')
    expect(shown(moveByRow(moveByRow(two, -1)!, 1)!)).toBe('long row\nab|')
    expect(moveByRow(two, 1)).toBeNull()
    expect(moveByRow(inputLine('x'), -1)).toBeNull()
  })

  it('continues after a backslash at its end', () => {
    expect(shown(continueLine(inputLine('one \\'))!)).toBe('one \n|')
    expect(continueLine(inputLine('one'))).toBeNull()
    expect(continueLine(typed(type('a\\'), 'left'))).toBeNull()
  })

  it('shows a long paste by its size, keeps its text, and deletes it as one', () => {
    const words = Array.from({ length: 214 }, (_, n) => `line ${n}`).join('\n')
    const line = typed(type('see '), paste(words), type(' there'))
    expect(layOutLine(line, 80, plain).rows).toEqual(['› see [pasted 214 lines] there'])
    expect(inputText(line)).toBe(`see ${words} there`)
    expect(inputText(typed(type('see '), paste(words), 'backspace'))).toBe('see ')
    expect(layOutLine(typed(paste('x'.repeat(2_000))), 80, plain).rows).toEqual([
      '› [pasted 2000 characters]',
    ])
    expect(layOutLine(typed(paste('a\nb')), 80, plain).rows).toEqual(['› a', '  b'])
  })
})

describe('the rows of an input line', () => {
  it('fit the width, including wide characters, and never touch the last column', () => {
    const { rows, cursor } = layOutLine(
      inputLine('漢字かな交じり文 and words, quite a lot of them'),
      20,
      plain,
    )
    expect(rows.every(row => widthOf(row) <= 19)).toBe(true)
    expect(cursor.row).toBe(rows.length - 1)
    expect(cursor.column).toBe(widthOf(rows.at(-1)!))
  })

  it('place the cursor where the next character is inserted', () => {
    expect(layOutLine(typed(type('ab'), 'newline'), 20, plain).cursor).toEqual({ row: 1, column: 2 })
    expect(layOutLine(typed(type('ab'), 'left'), 20, plain).cursor).toEqual({ row: 0, column: 3 })
  })

  it('show control characters, and send none of them (R17)', () => {
    const { rows } = layOutLine(typed(paste('a\x1b]52;c;x\x07\u202eb')), 80, plain)
    expect(rows.join('')).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u)
  })

  it('are those around the cursor if the terminal has fewer rows', () => {
    const laid = layOutLine(inputLine('1\n2\n3\n4\n5\n6'), 20, plain)
    expect(clipLayout(laid, 3).rows.map(row => row.trim())).toEqual(['4', '5', '6'])
    expect(clipLayout({ ...laid, cursor: { row: 0, column: 2 } }, 3).rows[0]).toContain('1')
  })
})

describe('Tab', () => {
  const names = async (text: string) => {
    const all = ['/tree', '/title', '/fork'].map(one => ({ text: one }))
    return { word: text, all: fittingCandidates(text, all) }
  }
  it('completes the only candidate', async () => {
    expect(shown((await completeLine(inputLine('/fo'), names)).line)).toBe('/fork |')
  })
  it('completes the common beginning, and lists the candidates', async () => {
    const { line, offered } = await completeLine(inputLine('/'), names)
    expect(shown(line)).toBe('/|')
    expect(offered.map(({ text }) => text)).toEqual(['/tree', '/title', '/fork'])
    expect((await completeLine(inputLine('/t'), names)).offered).toHaveLength(2)
  })
  it('changes nothing without candidates', async () => {
    expect(await completeLine(inputLine('/x'), names)).toEqual({ line: inputLine('/x'), offered: [] })
  })
  it('replaces the word by a quoted path, and stays behind a folder', async () => {
    const one = (text: string, isOpen: boolean) => async () => ({ word: '@my', all: [{ text, isOpen }] })
    const quoted = await completeLine(inputLine('see @my'), one('@"my notes.txt"', false))
    expect(shown(quoted.line)).toBe('see @"my notes.txt" |')
    expect(shown((await completeLine(inputLine('see @my'), one('@mine/', true))).line)).toBe('see @mine/|')
  })
  it('finds an id by the words of its title, if none begins with them', async () => {
    const ids = [
      { text: '3yh2rw', about: 'Reconnect storm' },
      { text: 'a7xk5f', about: 'My name is Ada' },
    ]
    expect(fittingCandidates('storm', ids)).toEqual([ids[0]])
    expect(fittingCandidates('a', ids)).toEqual([ids[1]])
  })
})
