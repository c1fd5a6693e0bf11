import type { Output } from '../../output/output.ts'
import { inputText } from './input-line.ts'
import type { Keyboard } from './keyboard.ts'
import {
  matchingChoices,
  type Picker,
  type PickerChoice,
  type PickerEnd,
  pickerRows,
  pressKey,
} from './picker.ts'
import { createScreenRegion } from './screen-region.ts'

/** The key that ended the picker, and the selected choice. */
export interface PickedChoice<T> {
  readonly by: PickerEnd
  readonly choice: PickerChoice<T> | null
}

/** Loads further details of a choice when it is selected. They are shown before its own. */
export type LoadDetails<T> = (value: T) => Promise<PickerChoice<T>['details']>

/** Loads choices that are not listed but may match the typed text. */
export type LoadChoices<T> = (typed: string) => Promise<readonly PickerChoice<T>[]>

export interface PickOptions<T> {
  readonly tellMore?: LoadDetails<T>
  /** Called for each typed text, if there are more choices than are listed. */
  readonly findMore?: LoadChoices<T>
}

/** Runs a picker until a key ends it, and erases its rows. */
export async function runPicker<T>(
  picker: Picker<T>,
  keyboard: Keyboard,
  output: Output,
  { tellMore, findMore }: PickOptions<T> = {},
): Promise<PickedChoice<T>> {
  const region = createScreenRegion(output)
  let now = picker
  let asked = ''
  for (;;) {
    const typed = inputText(now.typed).trim()
    if (findMore && typed !== '' && typed !== asked && now.choices.length < now.total) {
      asked = typed
      now = { ...now, choices: [...now.choices, ...(await findMore(typed))] }
    }
    if (tellMore) now = await withMore(now, tellMore)
    region.paint(pickerRows(now, output.width, output.rows, output.style))
    const stroke = await keyboard.next()
    if (stroke.type === 'woken') region.forget()
    if (stroke.type === 'resize' || stroke.type === 'woken') continue
    const next = stroke.type === 'closed' ? null : pressKey(now, stroke)
    if (next?.type === 'going') {
      now = next.picker
      continue
    }
    region.erase()
    return next ?? { by: 'escape', choice: null }
  }
}

/** Loads the details of the selected choice, once. */
async function withMore<T>(picker: Picker<T>, tellMore: LoadDetails<T>): Promise<Picker<T>> {
  const chosen = matchingChoices(picker)[picker.at]
  if (!chosen || chosen.isTold) return picker
  const details = [...(await tellMore(chosen.value)), ...chosen.details]
  const told = { ...chosen, details, isTold: true as const }
  return { ...picker, choices: picker.choices.map(one => (one === chosen ? told : one)) }
}
