import { statSync } from 'node:fs'
import {
  costOfTotals,
  type Stats,
  statsJson,
  statsMonthMs,
  statsOf,
  type UsageTotals,
} from '../../api/stats.ts'
import type { Measured } from '../../core/measure.ts'
import { modelName } from '../../core/model-name.ts'
import type { CommandHandler } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { bar } from '../output/bar.ts'
import { padEnd, padStart, widthOf } from '../output/cut.ts'
import { formatBytes, formatCount, formatInteger, formatMoney, plural } from '../output/number.ts'
import { formatDay } from '../output/time.ts'
import { withStore } from '../store/with-store.ts'

/** `skein stats`: messages, usage and cost, of the last 30 days and in total. */
export const statsCommand: CommandHandler = (_given, context) =>
  withStore(context, async store => {
    const measured = await store.measure(new Date(context.now() - statsMonthMs))
    const found = { ...statsOf(measured), sizes: [...sizesOf(measured.sizes, context)] }
    if (context.json) context.out.line(JSON.stringify(statsJson(found)))
    else if (context.out.isTerminal) tell(context, found)
    else for (const row of summary(found)) context.out.line(row.join('\t'))
    return exitCode.ok
  })

/** The sizes as the engine reports them, and the size of the write-ahead log. */
function* sizesOf(sizes: Measured['sizes'], context: CommandContext): Generator<Measured['sizes'][number]> {
  const { target } = context.location()
  const log = statSync(`${target}-wal`, { throwIfNoEntry: false })?.size
  for (const size of sizes) {
    yield size
    if (size.name === 'file' && log !== undefined) yield { name: 'log', bytes: log }
  }
}

function summary({ conversations, messages, recent, all }: Stats): readonly (readonly string[])[] {
  const tokens = ({ input, output }: UsageTotals) => `${formatCount(input)} / ${formatCount(output)}`
  return [
    ['', '30 days', 'all'],
    ['conversations', formatInteger(conversations.recent), formatInteger(conversations.all)],
    ['messages', formatInteger(messages.recent), formatInteger(messages.all)],
    ['tokens in/out', tokens(recent), tokens(all)],
    ['cost', formatMoney(costOfTotals(recent)), formatMoney(costOfTotals(all))],
  ].filter(([name, ...figures]) => name !== 'cost' || figures.some(figure => figure !== ''))
}

function tell(context: CommandContext, found: Stats): void {
  const { out } = context
  const { style } = out
  const rows = summary(found)
  const widths = [0, 1, 2].map(i => Math.max(...rows.map(row => widthOf(row[i]!))))
  for (const [name, recent, all] of rows) {
    const line = [padEnd(name!, widths[0]!), padStart(recent!, widths[1]!), padStart(all!, widths[2]!)].join(
      '  ',
    )
    out.line(name === '' ? style.faint(line) : line)
  }
  const unpriced = [...found.models.values()].filter(totals => totals.unpriced > 0)
  if (unpriced.length > 0) {
    const tokens = unpriced.reduce((sum, totals) => sum + totals.unpriced, 0)
    const have = unpriced.length === 1 ? 'has' : 'have'
    out.line(
      style.faint(`${plural(unpriced.length, 'model')} ${have} no price (${formatCount(tokens)} tokens)`),
    )
  }
  out.line(style.faint(sizesLine(found, style.symbols.dot)))
  if (found.all.turns === 0) return
  const byCost = found.all.cost > 0
  const cells = Math.max(4, Math.min(30, out.width - 20))
  out.line()
  bars(
    context,
    [...found.days].slice(-14).map(([day, totals]) => [formatDay(new Date(`${day}T12:00:00`)), totals]),
    cells,
    totals =>
      byCost ? formatMoney(costOfTotals(totals)) : `${formatCount(totals.input + totals.output)} tokens`,
    byCost,
  )
  shares(context, found.models, '', cells, byCost)
  shares(context, found.agents, 'agents', cells, byCost)
}

/** The shares of models or agents, the largest first. */
function shares(
  context: CommandContext,
  users: ReadonlyMap<string, UsageTotals>,
  heading: string,
  cells: number,
  byCost: boolean,
): void {
  if (users.size === 0) return
  const { out } = context
  out.line(out.style.faint(heading))
  const total = [...users.values()].reduce((sum, totals) => sum + weight(totals, byCost), 0)
  bars(
    context,
    [...users]
      .map(([name, totals]) => [out.style.safe(modelName(name)), totals] as const)
      .toSorted(([, a], [, b]) => weight(b, byCost) - weight(a, byCost))
      .slice(0, 10),
    cells,
    totals => `${Math.round((weight(totals, byCost) / Math.max(total, Number.MIN_VALUE)) * 100)}%`,
    byCost,
  )
}

/** An empty log is the usual state, and the search index is a part of the file. `--json` has all sizes. */
function isWorthNaming({ name, bytes }: Stats['sizes'][number]): boolean {
  return bytes > 0 && name !== 'search index'
}

/** `file 41 MB · log 2 MB · 12 blobs, 3 MB · 2 in the trash` */
function sizesLine({ sizes, blobs, trashed }: Stats, dot: string): string {
  return [
    ...sizes.filter(isWorthNaming).map(size => `${size.name} ${formatBytes(size.bytes)}`),
    ...(blobs.count > 0 ? [`${plural(blobs.count, 'blob')}, ${formatBytes(blobs.bytes)}`] : []),
    ...(trashed > 0 ? [`${formatInteger(trashed)} in the trash`] : []),
  ].join(` ${dot} `)
}

function bars(
  context: CommandContext,
  rows: readonly (readonly [name: string, totals: UsageTotals])[],
  cells: number,
  figure: (totals: UsageTotals) => string,
  byCost: boolean,
): void {
  const most = Math.max(...rows.map(([, totals]) => weight(totals, byCost)), Number.MIN_VALUE)
  const width = Math.max(6, ...rows.map(([name]) => widthOf(name)))
  const figures = Math.max(...rows.map(([, totals]) => figure(totals).length), 0)
  for (const [name, totals] of rows) {
    const drawn = padEnd(bar(weight(totals, byCost) / most, cells, context.out.style.unicode), cells)
    context.out.line(`${padStart(name, width)}  ${drawn}  ${padStart(figure(totals), figures)}`)
  }
}

/** The length of a bar: by cost if any is known, otherwise by tokens. */
function weight({ cost, input, output }: UsageTotals, byCost: boolean): number {
  return byCost ? cost : input + output
}
