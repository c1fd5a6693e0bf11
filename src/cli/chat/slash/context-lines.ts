import type { ReadContext } from '../../../context/read-context.ts'
import { bar } from '../../output/bar.ts'
import { padEnd, padStart } from '../../output/cut.ts'
import { count, plural } from '../../output/number.ts'
import type { Paper } from '../../output/output.ts'
import { shortened } from '../../output/short-id.ts'

/** Cells of the longest bar. */
const barCells = 16

/** What the next call sees, in words first and then in figures: pinned, summary, kept, left out. */
export function contextLines(
  { fitted, summary, messages, older }: ReadContext,
  { model, limit }: { readonly model: string; readonly limit: number },
  { style }: Pick<Paper, 'style'>,
): readonly string[] {
  const { tokens, left } = fitted
  const kept = fitted.messages.filter(({ id }) => id !== undefined)
  const covered = Math.max(0, messages.length + older - kept.length - leftOut())
  const first = kept[0]?.id
  const pinned = tokens.system + tokens.notes + tokens.overhead
  const percent = Math.round((100 * tokens.total) / limit)
  const most = Math.max(1, pinned, tokens.summary, tokens.messages)
  const row = (name: string, n: number, what: string) =>
    `  ${padEnd(name, 11)}${padEnd(visibleBar(n / most, style.unicode), barCells + 2)}${padStart(count(n), 6)}  ${what}`.trimEnd()
  const from = first === undefined ? '' : `, from ${style.id(shortened(first))} on`
  return [
    `what the next call sees: ${count(tokens.total)} of ${count(limit)} (${percent}%), ${style.safe(model)}`,
    row('pinned', pinned, pinned > 0 ? 'system prompt' : 'no system prompt'),
    row('summary', tokens.summary, summary ? `stands for ${plural(covered, 'message')}` : 'none'),
    row('kept', tokens.messages, `${plural(kept.length, 'message')} word for word${from}`),
    row(
      'left out',
      tokensLeft(),
      `${plural(leftOut(), 'message')} ${style.symbols.dot} all are kept in the store`,
    ),
  ]

  function leftOut(): number {
    const counted = left.reduce((sum, one) => sum + (one.reason === 'summarised' ? 0 : one.messages), 0)
    return counted + (summary ? 0 : older)
  }

  function tokensLeft(): number {
    return left.reduce((sum, one) => sum + (one.reason === 'summarised' ? 0 : one.tokens), 0)
  }
}

/** What is there at all is seen. */
function visibleBar(share: number, unicode: boolean): string {
  const least = 1 / (unicode ? barCells * 8 : barCells)
  return share <= 0 ? '' : bar(Math.max(share, least), barCells, unicode)
}
