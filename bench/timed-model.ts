import type { Model } from '../src/core/model.ts'

/** A model that answers at once, and notes when it was called. */
export interface TimedModel {
  readonly model: Model
  /** When it was called last, as of `performance.now()`. */
  calledAt(): number
}

export function timedModel(): TimedModel {
  let at = 0
  const model: Model = {
    id: 'scripted',
    async *stream() {
      at = performance.now()
      const content = [{ type: 'text', text: 'ok' }] as const
      yield { type: 'answer', answer: { content, finish: 'stop', usage: {}, model: null } }
    },
  }
  return { model, calledAt: () => at }
}
