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

/** How picking ended, and on what. */
export interface PickedChoice<T> {
  readonly by: PickerEnd
  readonly choice: PickerChoice<T> | null
}

/** What is told of the row under the cursor, before its own details: asked for when it is there. */
export type LoadDetails<T> = (value: T) => Promise<PickerChoice<T>['details']>

/** Choices that are not listed, but may fit what was typed. */
export type LoadChoices<T> = (typed: string) => Promise<readonly PickerChoice<T>[]>

export interface PickOptions<T> {
  readonly tellMore?: LoadDetails<T>
  /** Asked for each text that is typed, where there are more than are listed. */
  readonly findMore?: LoadChoices<T>
}

/** Lets a person pick. The rows are gone afterwards. */
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

/** A choice is asked about once: then it is another one, that knows. */
async function withMore<T>(picker: Picker<T>, tellMore: LoadDetails<T>): Promise<Picker<T>> {
  const chosen = matchingChoices(picker)[picker.at]
  if (!chosen || chosen.isTold) return picker
  const details = [...(await tellMore(chosen.value)), ...chosen.details]
  const told = { ...chosen, details, isTold: true as const }
  return { ...picker, choices: picker.choices.map(one => (one === chosen ? told : one)) }
}
