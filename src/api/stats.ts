import type { Measured, UsageSum } from '../core/measure.ts'
import { isFree } from './cost.ts'
import { fullModelName } from './full-model-name.ts'
import type { JsonOf, statsSchema } from './schema/index.ts'

/** Statistics as JSON. */
export type StatsJson = JsonOf<typeof statsSchema>

/** The days of `last_30_days`: measure since this long ago. */
export const statsMonthMs = 30 * 86_400_000
const quarterMs = 900_000

/** Messages, usage and cost of a store. */
export interface Stats {
  /** Conversations, without those in the trash. */
  readonly conversations: { readonly recent: number; readonly all: number }
  /** Their messages. */
  readonly messages: { readonly recent: number; readonly all: number }
  /** The usage of the last 30 days. */
  readonly recent: UsageTotals
  /** The usage of all time. */
  readonly all: UsageTotals
  /** By local day (`2026-11-09`) of the last 30 days, in order. */
  readonly days: ReadonlyMap<string, UsageTotals>
  /** By model, of all time. */
  readonly models: ReadonlyMap<string, UsageTotals>
  /** By agent of another program (ACP), of all time. Its turns have its name in place of a model. */
  readonly agents: ReadonlyMap<string, UsageTotals>
  /** Conversations in the trash. */
  readonly trashed: number
  /** Blobs of all conversations. */
  readonly blobs: Measured['blobs']
  /** Storage by part. */
  readonly sizes: Measured['sizes']
}

/** Sums up what was measured since `statsMonthMs` ago. Usage counts once: a fork shares the turns of its
 *  conversation, a subagent has its own. The trash counts too. */
export function statsOf(measured: Measured): Stats {
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
    sizes: measured.sizes,
  }
}

function localDay(date: Date): string {
  const two = (n: number) => String(n).padStart(2, '0')
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
}

/** Maps statistics to JSON. */
export function statsJson(stats: Stats): StatsJson {
  const { conversations, messages, recent, all, days, models, agents, trashed, blobs, sizes } = stats
  const usage = (totals: UsageTotals) => ({
    turns: totals.turns,
    input: totals.input,
    output: totals.output,
    cost_usd: costOfTotals(totals),
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
export interface UsageTotals {
  /** The number of turns. */
  readonly turns: number
  /** Input tokens. */
  readonly input: number
  /** Output tokens. */
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
export function costOfTotals({ cost, unpriced }: UsageTotals): number | null {
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
