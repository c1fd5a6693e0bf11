import type { Paper } from '../../output/output.ts'
import type { Keyboard } from './keyboard.ts'
import { textOfLine } from './line.ts'
import { type Choice, fitting, type Picker, type PickerEnd, pickerRows, pressed } from './picker.ts'
import { regionOn } from './region.ts'

/** How picking ended, and on what. */
export interface PickedChoice<T> {
  readonly by: PickerEnd
  readonly choice: Choice<T> | null
}

/** What is told of the row under the cursor, before its own details: asked for when it is there. */
export type TellMore<T> = (value: T) => Promise<Choice<T>['details']>

/** Choices that are not listed, but may fit what was typed. */
export type FindMore<T> = (typed: string) => Promise<readonly Choice<T>[]>

export interface PickOptions<T> {
  readonly tellMore?: TellMore<T>
  /** Asked for each text that is typed, where there are more than are listed. */
  readonly findMore?: FindMore<T>
}

/** Lets a person pick. The rows are gone afterwards. */
export async function pick<T>(
  picker: Picker<T>,
  keyboard: Keyboard,
  paper: Paper,
  { tellMore, findMore }: PickOptions<T> = {},
): Promise<PickedChoice<T>> {
  const region = regionOn(paper)
  let now = picker
  let asked = ''
  for (;;) {
    const typed = textOfLine(now.typed).trim()
    if (findMore && typed !== '' && typed !== asked && now.choices.length < now.total) {
      asked = typed
      now = { ...now, choices: [...now.choices, ...(await findMore(typed))] }
    }
    if (tellMore) now = await withMore(now, tellMore)
    region.paint(pickerRows(now, paper.width, paper.rows, paper.style))
    const stroke = await keyboard.next()
    if (stroke.type === 'woken') region.forget()
    if (stroke.type === 'resize' || stroke.type === 'woken') continue
    const next = stroke.type === 'closed' ? null : pressed(now, stroke)
    if (next?.type === 'going') {
      now = next.picker
      continue
    }
    region.erase()
    return next ?? { by: 'escape', choice: null }
  }
}

/** A choice is asked about once: then it is another one, that knows. */
async function withMore<T>(picker: Picker<T>, tellMore: TellMore<T>): Promise<Picker<T>> {
  const chosen = fitting(picker)[picker.at]
  if (!chosen || chosen.isTold) return picker
  const details = [...(await tellMore(chosen.value)), ...chosen.details]
  const told = { ...chosen, details, isTold: true as const }
  return { ...picker, choices: picker.choices.map(one => (one === chosen ? told : one)) }
}
