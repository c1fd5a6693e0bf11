import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { type Block, isMedia } from '../core/block.ts'
import type { ModelAnswer, ModelEvent } from '../core/model.ts'
import { collectAnswer } from './collect.ts'
import { blocksOf } from './content.ts'
import { finishOf } from './finish.ts'

/** The stream ended without an answer: with an error part, or too early. */
export class BrokenOff extends Error {
  /** The provider's error, if it sent one. */
  readonly said: unknown

  constructor(said?: unknown) {
    super('the answer broke off')
    this.said = said
  }
}

/** Builds an answer from the parts of a stream. */
export interface AnswerBuilder {
  /** The piece to emit, if there is one. Throws BrokenOff for an error part. */
  take(part: LanguageModelV4StreamPart): ModelEvent | null
  /** The whole answer. Throws BrokenOff if the stream ended without a normal finish. */
  whole(): ModelAnswer
}

export function answerBuilder(fromProvider: (name: string) => string, model: string): AnswerBuilder {
  const arriving = collectAnswer()
  return {
    take(part) {
      if (part.type === 'error') throw new BrokenOff(part.error)
      return arriving.take(part)
    },
    whole() {
      const { end } = arriving
      const how = end?.reason.unified
      if (end === null || how === 'interrupted' || how === 'error') throw new BrokenOff()
      const blocks = blocksOf(arriving.content, model).map(block => renamed(block, fromProvider))
      return {
        content: blocks,
        finish: finishOf(end.reason, blocks),
        usage: end.usage,
        model: arriving.model,
      }
    },
  }
}

/** Restores the names of tools, which were sent in a form that the provider accepts. */
function renamed(block: Block, fromProvider: (name: string) => string): Block {
  if (!('name' in block) || typeof block.name !== 'string' || isMedia(block)) return block
  return { ...block, name: fromProvider(block.name) }
}
