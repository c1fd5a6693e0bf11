import { textOf } from '../../src/core/message.ts'
import type { Model, ModelRequest } from '../../src/core/model.ts'

/** A model that answers with a function, and keeps its requests. */
export interface ToldModel extends Model {
  readonly requests: ModelRequest[]
}

export function told(answer: (request: ModelRequest, call: number) => string | Promise<string>): ToldModel {
  const requests: ModelRequest[] = []
  return {
    id: 'told/small',
    requests,
    async *stream(request) {
      requests.push(request)
      const text = await answer(request, requests.length)
      yield { type: 'text', text }
      yield {
        type: 'answer',
        answer: {
          content: text === '' ? [] : [{ type: 'text', text }],
          finish: 'stop',
          usage: { input: 100, output: 10 },
          model: null,
        },
      }
    },
  }
}

/** The request to the model, without the system text. */
export function askedFor(request: ModelRequest): string {
  return textOf(request.messages[1]!)
}
