import type { Item } from './view.ts'

/** A message of the view and what it weighs. */
export interface Sized {
  readonly item: Item
  readonly tokens: number
  readonly characters: number
}

/** What a person said and all that follows until a person speaks again. Sent whole, but for the newest one. */
export interface Exchange {
  /** The question, and what came before the first answer. */
  readonly head: readonly Sized[]
  /** Each answer with the results of its calls. */
  readonly steps: readonly (readonly Sized[])[]
}

export interface Talk {
  /** What the system said before the first question. */
  readonly preface: readonly Sized[]
  /** What the assistant or a tool said before anybody asked. */
  readonly unasked: readonly Sized[]
  readonly exchanges: readonly Exchange[]
}

/** Cuts a view into exchanges, and exchanges into steps. */
export function exchangesOf(view: readonly Sized[]): Talk {
  const first = view.findIndex(({ item }) => item.opens)
  const before = first === -1 ? view : view.slice(0, first)
  const exchanges: { head: Sized[]; steps: Sized[][] }[] = []
  for (let i = before.length; i < view.length; i++) {
    const sized = view[i]!
    if (sized.item.opens) exchanges.push({ head: [sized], steps: [] })
    else put(exchanges.at(-1)!, sized)
  }
  return {
    preface: before.filter(isSystem),
    unasked: before.filter(sized => !isSystem(sized)),
    exchanges,
  }
}

/** Groups what no question opens into steps behind the given beginning. */
export function unaskedExchange(opening: Sized, unasked: readonly Sized[]): Exchange {
  const exchange = { head: [opening], steps: [] as Sized[][] }
  for (const sized of unasked) put(exchange, sized)
  return exchange
}

function put(exchange: { head: Sized[]; steps: Sized[][] }, sized: Sized): void {
  if (sized.item.message.role === 'assistant') exchange.steps.push([sized])
  else (exchange.steps.at(-1) ?? exchange.head).push(sized)
}

/** The exchanges without what a summary stands for, which ends at this place of the path. An exchange of which it
 *  covers only the beginning keeps its question, so that its later steps still answer something; the newest one
 *  keeps its question and its last step in any case. */
export function withoutCovered(exchanges: readonly Exchange[], end: number): readonly Exchange[] {
  const isCovered = (sized: readonly Sized[]) => sized.every(({ item }) => item.last <= end)
  return exchanges.flatMap((exchange, i) => {
    const newest = i === exchanges.length - 1
    if (!isCovered(exchange.head)) return [exchange]
    const steps = exchange.steps.filter(
      (step, n) => !isCovered(step) || (newest && n === exchange.steps.length - 1),
    )
    return steps.length > 0 || newest ? [{ head: exchange.head, steps }] : []
  })
}

export function messagesOf({ head, steps }: Exchange): readonly Sized[] {
  return steps.length === 0 ? head : head.concat(...steps)
}

function isSystem({ item }: Sized): boolean {
  return item.message.role === 'system'
}
