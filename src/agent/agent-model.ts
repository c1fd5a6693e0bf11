import { InvalidError } from '../core/errors.ts'
import { typeName } from '../core/json.ts'
import type { Model } from '../core/model.ts'
import {
  type AnyLanguageModel,
  asLanguageModel,
  isLanguageModel,
  languageModelName,
} from '../models/language-model.ts'

/** A model as an application gives it: one of ours, one of the AI SDK 5 to 7, or a name for `openModel`. */
export type AgentModel = Model | AnyLanguageModel | string

/** The model behind any of the three forms. A model of the AI SDK and a name are opened with the first call:
 *  a missing key is an error of that call. Throws InvalidError for other values. */
export function resolveModel(given: AgentModel, field: string): Model {
  if (typeof given === 'string' && given.trim() !== '') {
    const name = given.trim()
    return openedLater(name, async () => (await import('../models/index.ts')).openModel(name))
  }
  if (isLanguageModel(given)) {
    const languageModel = asLanguageModel(given)
    const open = async () => (await import('../models/index.ts')).modelOf(languageModel)
    return openedLater(languageModelName(languageModel), open)
  }
  if (isModel(given)) return given
  const found = given === '' ? 'an empty text' : typeName(given)
  throw new InvalidError(field, `must be a model, or a name such as "openai/gpt-5", got ${found}`)
}

function isModel(value: unknown): value is Model {
  const { id, stream } = (value ?? {}) as Partial<Model>
  return typeof id === 'string' && typeof stream === 'function'
}

function openedLater(id: string, open: () => Promise<Model>): Model {
  let opened: Promise<Model> | null = null
  return {
    id,
    async *stream(request) {
      opened ??= open()
      let model: Model
      try {
        model = await opened
      } catch (error) {
        // The next call tries again: the key may be set by then.
        opened = null
        throw error
      }
      yield* model.stream(request)
    },
  }
}
