import type { Item } from './item.ts'

/** What a person said and all that follows until a person speaks again. Sent whole, but for the newest one. */
export interface Exchange {
  /** The question, and what came before the first answer. */
  readonly head: readonly Item[]
  /** Each answer with the results of its calls. */
  readonly steps: readonly (readonly Item[])[]
}

/** Cuts the messages of one exchange into steps. */
export function exchangeOf(items: readonly Item[]): Exchange {
  const head: Item[] = []
  const steps: Item[][] = []
  for (const item of items) {
    if (item.message.role === 'assistant') steps.push([item])
    else (steps.at(-1) ?? head).push(item)
  }
  return { head, steps }
}

/** The messages without those that a summary stands for, which ends at this place of the path. An exchange of which
 *  it covers only the beginning keeps its question, so that its later steps still answer something; the newest
 *  one keeps its question and its last step in any case. */
export function withoutCovered(items: readonly Item[], end: number): readonly Item[] {
  const isCovered = (some: readonly Item[]) => some.every(item => item.last <= end)
  const rest: Item[] = []
  for (let start = 0; start < items.length; ) {
    let next = start + 1
    while (next < items.length && !items[next]!.opens) next++
    const { head, steps } = exchangeOf(items.slice(start, next))
    const isNewest = next === items.length
    const remaining = steps.filter((step, i) => !isCovered(step) || (isNewest && i === steps.length - 1))
    const asked = head[0]?.opens === true && (remaining.length > 0 || isNewest)
    if (asked || !isCovered(head)) for (const item of head) rest.push(item)
    for (const item of remaining.flat()) rest.push(item)
    start = next
  }
  return rest
}
