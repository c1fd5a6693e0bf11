import { collapseSpaces } from '../../../core/collapse-spaces.ts'
import { cut, padEnd, padStart, widthOf } from '../../output/cut.ts'
import type { Style } from '../../output/style.ts'
import { applyKey, emptyInput, type InputLine, inputText } from './input-line.ts'
import type { Key } from './key-reader.ts'
import type { ScreenLayout } from './screen-layout.ts'

/** An item of a picker. */
export interface PickerChoice<T> {
  readonly value: T
  readonly title: string
  /** Short facts on the right: age, a number, a name. The last ones are dropped first if there is no room. */
  readonly facts: readonly string[]
  /** Further texts that the filter searches: last message, directory, branch, label. */
  readonly alsoFinds: readonly string[]
  /** Shown below the selected row, each after its name. */
  readonly details: readonly (readonly [name: string, text: string])[]
  /** Set once the details are loaded. */
  readonly isTold?: true
}

/** A list that is filtered by the typed text. */
export interface Picker<T> {
  readonly question: string
  readonly choices: readonly PickerChoice<T>[]
  readonly typed: InputLine
  /** The selected row, as an index into the matching choices. */
  readonly at: number
  /** What is listed, shown on the right: `this directory`. */
  readonly scope: string
  /** The number of choices in all, which may be more than are listed. */
  readonly total: number
  /** The key bindings, shown in the last row. */
  readonly keys: string
  /** Keys that end the picker besides Enter and Escape. */
  readonly ends: readonly Exclude<PickerEnd, 'enter' | 'escape'>[]
}

/** The key that ended the picker. */
export type PickerEnd = 'enter' | 'escape' | 'tab' | 'forward' | 'read'

export type PickerStep<T> =
  | { readonly type: 'going'; readonly picker: Picker<T> }
  | { readonly type: 'ended'; readonly by: PickerEnd; readonly choice: PickerChoice<T> | null }

export function newPicker<T>(
  about: Pick<Picker<T>, 'question' | 'choices' | 'scope' | 'keys' | 'ends'> & { readonly total?: number },
): Picker<T> {
  return { ...about, total: about.total ?? about.choices.length, typed: emptyInput, at: 0 }
}

/** The choices that contain all typed words, ignoring case. */
export function matchingChoices<T>({ choices, typed }: Picker<T>): readonly PickerChoice<T>[] {
  const words = inputText(typed).toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return choices
  return choices.filter(({ title, alsoFinds }) => {
    const text = [title, ...alsoFinds].join('\n').toLowerCase()
    return words.every(word => text.includes(word))
  })
}

/** The picker after a key. */
export function pressKey<T>(picker: Picker<T>, key: Key): PickerStep<T> {
  const found = matchingChoices(picker)
  const go = (change: Partial<Picker<T>>): PickerStep<T> => ({
    type: 'going',
    picker: { ...picker, ...change },
  })
  const end = (by: PickerEnd): PickerStep<T> => ({ type: 'ended', by, choice: found[picker.at] ?? null })
  const move = (to: number) => go({ at: Math.max(0, Math.min(found.length - 1, to)) })
  if (key.type === 'key') {
    const { name } = key
    if (name === 'enter') return found.length === 0 ? go({}) : end('enter')
    if (name === 'escape' || name === 'interrupt') return end('escape')
    if (name === 'end-of-input' && picker.typed.cells.length === 0) return end('escape')
    if ((name === 'tab' || name === 'forward' || name === 'read') && picker.ends.includes(name)) {
      return name === 'tab' || found.length > 0 ? end(name) : go({})
    }
    if (name === 'up') return move(picker.at - 1)
    if (name === 'down') return move(picker.at + 1)
    if (name === 'page-up') return move(picker.at - 10)
    if (name === 'page-down') return move(picker.at + 10)
    if (name === 'newline' || name === 'tab' || name === 'read') return go({})
  }
  const typed = applyKey(
    picker.typed,
    key.type === 'paste' ? { type: 'text', text: collapseSpaces(key.text) } : key,
  )
  return typed === picker.typed
    ? go({})
    : go({ typed, at: typed.cells === picker.typed.cells ? picker.at : 0 })
}

/** The rows of the picker: the question with the typed text, the rows around the selection, the key
 *  bindings. */
export function pickerRows<T>(picker: Picker<T>, width: number, height: number, style: Style): ScreenLayout {
  const found = matchingChoices(picker)
  const { dots } = style.symbols
  const room = Math.max(20, width - 1)
  const typed = style.safe(inputText(picker.typed))
  const head = `${picker.question}  ${typed}`
  const count = `${picker.scope}  ${found.length}/${picker.total}`
  const gap = room - widthOf(head) - widthOf(count)
  const title = `${style.title(picker.question)}  ${typed}`
  const top = gap >= 2 ? `${title}${' '.repeat(gap)}${style.faint(count)}` : cut(head, room, dots)
  const column = Math.min(room, widthOf(`${picker.question}  `) + widthBefore(picker.typed, style))

  const chosen = found[picker.at]
  const details = (chosen?.details ?? []).map(([name, text]) =>
    style.faint(`    ${cut(`${padEnd(name, 7)}${collapseSpaces(style.safe(text))}`, room - 4, dots)}`),
  )
  const most = Math.max(1, Math.min(10, height - 3 - details.length))
  const from = Math.max(0, Math.min(picker.at - Math.floor(most / 2), found.length - most))
  const shown = found.slice(from, from + most)
  const columns = factColumns(shown, room)
  const rows = shown.flatMap((choice, i) => {
    const isChosen = from + i === picker.at
    const row = rowOf(choice, columns, room, style, isChosen)
    return isChosen ? [row, ...details] : [row]
  })
  const none = found.length === 0 ? [style.faint(`  nothing fits`)] : []
  const keys = style.faint(cut(picker.keys.replaceAll(' · ', ` ${style.symbols.dot} `), room, dots))
  return { rows: [top, ...rows, ...none, keys], cursor: { row: 0, column } }
}

/** The widths of the facts that fit next to a title. */
function factColumns<T>(choices: readonly PickerChoice<T>[], room: number): readonly number[] {
  const most = Math.max(0, ...choices.map(({ facts }) => facts.length))
  const widths = Array.from({ length: most }, (_, i) =>
    Math.max(...choices.map(({ facts }) => widthOf(facts[i] ?? ''))),
  )
  while (widths.length > 1 && room - 2 - sum(widths) < 24) widths.pop()
  // The last one stays as long as a title can be recognized.
  if (room - 2 - sum(widths) < 14) widths.pop()
  return widths
}

function rowOf<T>(
  { title, facts }: PickerChoice<T>,
  columns: readonly number[],
  room: number,
  style: Style,
  isChosen: boolean,
): string {
  const left = Math.max(4, room - 2 - sum(columns))
  const words = padEnd(cut(collapseSpaces(style.safe(title)), left, style.symbols.dots), left)
  const right = columns.map((cells, i) => {
    const fact = style.safe(facts[i] ?? '')
    return `  ${i === 2 ? padEnd(fact, cells) : padStart(fact, cells)}`
  })
  const mark = isChosen ? `${style.symbols.prompt} ` : '  '
  return `${mark}${isChosen ? style.title(words) : words}${right.join('')}`.trimEnd()
}

/** The total width of columns that have two cells before each. */
function sum(columns: readonly number[]): number {
  return columns.reduce((total, cells) => total + cells + 2, 0)
}

function widthBefore({ cells, at }: InputLine, style: Style): number {
  const before = cells.slice(0, at).map(({ value }) => value)
  return widthOf(style.safe(before.join('')))
}
