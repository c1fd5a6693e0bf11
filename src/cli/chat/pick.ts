import type { Paper } from '../terminal/paper.ts'
import type { Keyboard } from './keyboard.ts'
import { type Choice, type Picker, type PickerEnd, pickerRows, pressed } from './picker.ts'
import { regionOn } from './region.ts'

/** How picking ended, and on what. */
export interface PickedChoice<T> {
  readonly by: PickerEnd
  readonly choice: Choice<T> | null
}

/** Lets a person pick. The rows are gone afterwards. */
export async function pick<T>(picker: Picker<T>, keyboard: Keyboard, paper: Paper): Promise<PickedChoice<T>> {
  const region = regionOn(paper)
  let now = picker
  for (;;) {
    region.paint(pickerRows(now, paper.width, paper.rows, paper.style))
    const stroke = await keyboard.next()
    if (stroke.type === 'resize') continue
    const next = stroke.type === 'closed' ? null : pressed(now, stroke)
    if (next?.type === 'going') {
      now = next.picker
      continue
    }
    region.erase()
    return next ?? { by: 'escape', choice: null }
  }
}
