import type { Sized } from './exchange.ts'
import type { LeftOut, LeftReason } from './fitted.ts'

/** Adds up what is left out, by reason. */
export interface Leftovers {
  add(messages: readonly Sized[], reason: LeftReason): void
  /** Messages that nothing stands for. */
  truncated(): number
  list(): readonly LeftOut[]
}

export function leftovers(): Leftovers {
  const byReason = new Map<LeftReason, { messages: number; tokens: number }>()
  return {
    add(messages, reason) {
      for (const { item, tokens } of messages) {
        const sum = byReason.get(reason) ?? { messages: 0, tokens: 0 }
        sum.messages += item.stands
        sum.tokens += tokens
        byReason.set(reason, sum)
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
