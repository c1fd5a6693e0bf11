import type { LeftOut, LeftReason } from './fitted.ts'
import type { Item } from './item.ts'

/** Adds up what is left out, by reason. */
export interface Leftovers {
  add(items: readonly Item[], reason: LeftReason): void
  /** Messages of the path that nothing stands for. */
  truncated(): number
  list(): readonly LeftOut[]
}

export function leftovers(): Leftovers {
  const byReason = new Map<LeftReason, { messages: number; tokens: number }>()
  return {
    add(items, reason) {
      if (items.length === 0) return
      const sum = byReason.get(reason) ?? { messages: 0, tokens: 0 }
      byReason.set(reason, sum)
      for (const { stands, tokens } of items) {
        sum.messages += stands
        sum.tokens += tokens
      }
    },
    truncated() {
      let messages = 0
      for (const [reason, sum] of byReason) if (reason !== 'summarised') messages += sum.messages
      return messages
    },
    list: () => [...byReason].map(([reason, sum]) => ({ reason, ...sum })),
  }
}
