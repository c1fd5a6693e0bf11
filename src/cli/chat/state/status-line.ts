import { modelName } from '../../../core/model-name.ts'
import { widthOf } from '../../output/cut.ts'
import { formatCount, formatMoney, plural } from '../../output/number.ts'
import type { Style } from '../../output/style.ts'

/** The contents of the line above the prompt. */
export interface StatusFacts {
  /** As a shell shows it: `~/src/harbor`. */
  readonly directory: string
  /** Null in an incognito chat. */
  readonly branch: string | null
  readonly messages: number
  readonly model: string
  /** Model and mode of an agent of another program. Default: none. */
  readonly modes?: readonly string[]
  /** The tokens that the next call sends. */
  readonly used: number
  /** Most tokens of a context; null if another program chooses the model. */
  readonly window: number | null
  /** Null if unknown. */
  readonly cost: number | null
  /** The names of the files that go with the next message. Default: none. */
  readonly attached?: readonly string[]
  /** How many messages wait for the store. Default: none. */
  readonly unsaved?: number
}

/** The status in one line that fits the width. It drops the directory first, then the number of messages, the
 *  bar and the cost, and the window only for messages that are not saved and for attached files. */
export function statusLine(facts: StatusFacts, width: number, style: Style): string {
  const dot = ` ${style.symbols.dot} `
  const last = facts.unsaved || facts.attached?.length ? 5 : 4
  for (let dropped = 0; dropped <= last; dropped++) {
    const parts = partsOf(facts, dropped, width, style)
    const line = parts.join(dot)
    if (widthOf(line) <= width || dropped === last) return parts.join(style.faint(dot))
  }
  return ''
}

function partsOf(facts: StatusFacts, dropped: number, width: number, style: Style): readonly string[] {
  const { directory, branch, messages, model, cost } = facts
  const wide = width >= 100
  const parts: string[] = []
  if (dropped < 1 && wide) parts.push(style.faint(style.safe(directory)))
  parts.push(branch === null ? 'incognito' : style.branch(style.safe(branch)))
  if (dropped < 2 && wide) parts.push(plural(messages, 'message'))
  parts.push(style.safe(modelName(model)))
  if (dropped < 3) parts.push(...(facts.modes ?? []).map(one => style.safe(one)))
  if (dropped < 5 && facts.window !== null)
    parts.push(fill(facts.used, facts.window, dropped < 3, wide ? 24 : 16, style))
  if (dropped < 4 && cost !== null) parts.push(formatMoney(cost))
  if (facts.attached?.length) parts.push(style.note(attachedPart(facts.attached, dropped < 3, style)))
  if (facts.unsaved) parts.push(style.note(`${facts.unsaved} not saved`))
  if (wide && dropped < 1) parts.push(style.faint('/help'))
  return parts
}

/** `with notes.txt, shot.png`, or `with 2 files` where space is short. */
function attachedPart(names: readonly string[], hasNames: boolean, style: Style): string {
  const all = names.map(name => style.safe(name)).join(', ')
  return `with ${hasNames && widthOf(all) <= 40 ? all : plural(names.length, 'file')}`
}

/** `━━━━━━────────── 37% of 200k`: yellow from 70 %, red and with a warning from 90 %. */
function fill(used: number, window: number, hasBar: boolean, cells: number, style: Style): string {
  const share = window > 0 ? Math.min(1, used / window) : 0
  const percent = Math.round(share * 100)
  const full = percent === 0 ? 0 : Math.max(1, Math.round(share * cells))
  const bar = hasBar
    ? `${style.symbols.full.repeat(full)}${style.faint(style.symbols.empty.repeat(cells - full))} `
    : ''
  const words = `${percent}% of ${formatCount(window)}${percent >= 90 ? ' nearly full' : ''}`
  if (percent >= 90) return style.failed(`${bar}${words}`)
  return percent >= 70 ? style.note(`${bar}${words}`) : `${bar}${words}`
}
