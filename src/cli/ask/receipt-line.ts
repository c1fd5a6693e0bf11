import type { Usage } from '../../core/turn.ts'
import { widthOf } from '../output/cut.ts'
import { modelName } from '../output/model-name.ts'
import { count, money } from '../output/number.ts'
import type { Paper } from '../output/output.ts'

/** What a receipt tells. */
export interface ReceiptFacts {
  /** The stored answer, by an id that can be pasted; null if nothing is kept. */
  readonly message: string | null
  readonly model: string
  readonly usage: Usage
  /** Dollars; null if nobody knows the price. */
  readonly cost: number | null
  /** How full the window is; null if that is not known. */
  readonly context: { readonly used: number; readonly window: number } | null
}

/** `saved t4m6xe · sonnet-4.5 · 74k in (69k cached), 1.2k out · $0.05 · context 37%`. Where that is too wide, the model
 *  leaves first, then the context, then the tokens. */
export function receiptLine(facts: ReceiptFacts, { style, width }: Paper): string {
  const { message, model, usage, cost, context } = facts
  const parts = [
    { text: message === null ? 'not kept' : `saved ${style.id(message)}`, leaves: 9 },
    { text: style.safe(modelName(model)), leaves: 1 },
    { text: usageText(usage), leaves: 3 },
    { text: money(cost), leaves: 9 },
    { text: contextText(context), leaves: 2 },
  ]
  const lines = [0, 1, 2, 3].map(dropped =>
    parts
      .filter(({ text, leaves }) => text !== '' && leaves > dropped)
      .map(({ text }) => text)
      .join(` ${style.symbols.dot} `),
  )
  return lines.find(line => widthOf(line) <= width) ?? lines.at(-1)!
}

/** `74k in (69k cached), 1.2k out`; '' if nobody counted. */
function usageText({ input, output, cacheRead }: Usage): string {
  const cached = cacheRead ? ` (${count(cacheRead)} cached)` : ''
  const parts = [
    input === undefined ? '' : `${count(input)} in${cached}`,
    output === undefined ? '' : `${count(output)} out`,
  ]
  return parts.filter(part => part !== '').join(', ')
}

function contextText(context: ReceiptFacts['context']): string {
  const percent = context === null ? 0 : Math.round((100 * context.used) / context.window)
  return percent < 1 ? '' : `context ${percent}%`
}
