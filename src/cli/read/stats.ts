import { statSync } from 'node:fs'
import type { Measured, Meter, UsageSum } from '../../core/measure.ts'
import type { CommandHandler } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { fullModelName } from '../model/full-model-name.ts'
import { bar } from '../output/bar.ts'
import { isFree } from '../output/cost.ts'
import { padEnd, padStart, widthOf } from '../output/cut.ts'
import { modelName } from '../output/model-name.ts'
import { formatBytes, formatCount, formatInteger, formatMoney, plural } from '../output/number.ts'
import { formatDay } from '../output/time.ts'
import { withStore } from '../store/with-store.ts'

const monthMs = 30 * 86_400_000
const quarterMs = 900_000

interface Stats {
  readonly conversations: { readonly recent: number; readonly all: number }
  readonly messages: { readonly recent: number; readonly all: number }
  readonly recent: UsageTotals
  readonly all: UsageTotals
  /** By local day (`2026-11-09`) of the last 30 days, in order. */
  readonly days: ReadonlyMap<string, UsageTotals>
  /** By model, of all time. */
  readonly models: ReadonlyMap<string, UsageTotals>
  /** By agent of another program (ACP), of all time. Its turns have its name in place of a model. */
  readonly agents: ReadonlyMap<string, UsageTotals>
  readonly trashed: number
  readonly blobs: Measured['blobs']
  readonly sizes: Measured['sizes']
}

/** `skein stats`: messages, usage and cost, of the last 30 days and in total. */
export const statsCommand: CommandHandler = (_given, context) =>
  withStore(context, async store => {
    const found = await readStats(store, context)
    if (context.json) context.out.line(JSON.stringify(jsonOf(found)))
    else if (context.out.isTerminal) tell(context, found)
    else for (const row of summary(found)) context.out.line(row.join('\t'))
    return exitCode.ok
  })

/** Usage counts once: a fork shares the turns of its conversation, a subagent has its own. The trash counts
 *  too. */
async function readStats(store: Meter, context: CommandContext): Promise<Stats> {
  const measured = await store.measure(new Date(context.now() - monthMs))
  let [recent, all] = [noUsage, noUsage]
  const days = new Map<string, UsageTotals>()
  const models = new Map<string, UsageTotals>()
  const agents = new Map<string, UsageTotals>()
  const names = modelNames(measured.usage.flatMap(({ model }) => model ?? []))
  for (const sum of measured.usage) {
    all = withSum(all, sum)
    const name = names.get(sum.model) ?? 'unknown'
    const users = sum.model !== null && isAgent(name) ? agents : models
    users.set(name, withSum(users.get(name) ?? noUsage, sum))
    if (sum.quarter === null) continue
    recent = withSum(recent, sum)
    const day = localDay(new Date(sum.quarter * quarterMs))
    days.set(day, withSum(days.get(day) ?? noUsage, sum))
  }
  return {
    conversations: { recent: measured.recent.conversations, all: measured.conversations },
    messages: { recent: measured.recent.messages, all: measured.messages },
    recent,
    all,
    days: new Map([...days].sort(([a], [b]) => (a < b ? -1 : 1))),
    models,
    agents,
    trashed: measured.trashed,
    blobs: measured.blobs,
    sizes: [...sizesOf(measured.sizes, context)],
  }
}

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
    ['cost', formatMoney(costOf(recent)), formatMoney(costOf(all))],
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
    totals => (byCost ? formatMoney(costOf(totals)) : `${formatCount(totals.input + totals.output)} tokens`),
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

function localDay(date: Date): string {
  const two = (n: number) => String(n).padStart(2, '0')
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
}

function jsonOf(stats: Stats) {
  const { conversations, messages, recent, all, days, models, agents, trashed, blobs, sizes } = stats
  const usage = (totals: UsageTotals) => ({
    turns: totals.turns,
    input: totals.input,
    output: totals.output,
    cost_usd: costOf(totals),
    unpriced_tokens: totals.unpriced,
  })
  return {
    last_30_days: { conversations: conversations.recent, messages: messages.recent, ...usage(recent) },
    all: { conversations: conversations.all, messages: messages.all, ...usage(all) },
    days: [...days].map(([day, totals]) => ({ day, ...usage(totals) })),
    models: [...models].map(([model, totals]) => ({ model, ...usage(totals) })),
    agents: [...agents].map(([agent, totals]) => ({ agent, ...usage(totals) })),
    trashed_conversations: trashed,
    blobs,
    sizes,
  }
}

/** The usage of some turns. */
interface UsageTotals {
  readonly turns: number
  readonly input: number
  readonly output: number
  /** The cost of the turns with a known price. */
  readonly cost: number
  /** The tokens of the turns without a known price. */
  readonly unpriced: number
}

const noUsage: UsageTotals = { turns: 0, input: 0, output: 0, cost: 0, unpriced: 0 }

/** Adds a sum of the engine. */
function withSum(totals: UsageTotals, sum: UsageSum): UsageTotals {
  return {
    turns: totals.turns + sum.turns,
    input: totals.input + sum.input,
    output: totals.output + sum.output,
    cost: totals.cost + sum.cost,
    unpriced: totals.unpriced + (isFree(sum.model) ? 0 : sum.uncosted),
  }
}

/** The cost; null if tokens were used and no price is known. */
function costOf({ cost, unpriced }: UsageTotals): number | null {
  return cost === 0 && unpriced > 0 ? null : cost
}

/** A model has a provider in its name, except the built-in one. */
function isAgent(name: string): boolean {
  return !name.includes('/') && name !== 'scripted'
}

/** One name for each model. Version 0.1 stored a completed turn under the provider's own name of the model,
 *  without the provider and perhaps with a date, and a failed one under the name that it was opened with. */
function modelNames(stored: readonly string[]): ReadonlyMap<string | null, string> {
  const whole = stored.filter(name => name.includes('/'))
  return new Map(
    stored.map(name => {
      // The name of a model has a version. `gemini` and `claude-code` are agents.
      if (name.includes('/') || !/\d/.test(name)) return [name, name]
      const undated = name.replace(/-(20\d{6}|20\d\d-\d\d-\d\d)$/, '')
      const opened = whole.find(one => [name, undated].includes(one.slice(one.indexOf('/') + 1)))
      return [name, opened ?? fullModelName(undated)]
    }),
  )
}
