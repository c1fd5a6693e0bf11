import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
  SharedV4ProviderOptions,
  SharedV4Warning,
} from '@ai-sdk/provider'
import type {
  IgnoredOption,
  Model,
  ModelAnswer,
  ModelEvent,
  ModelOptions,
  ModelRequest,
  ToolSpec,
} from '../core/model.ts'
import { unlessAborted } from '../core/wait.ts'
import { type ToolNames, toolNames } from './accepted-names.ts'
import { answerBuilder } from './answer.ts'
import {
  anthropicDialect,
  chatDialect,
  type Dialect,
  googleDialect,
  openaiDialect,
  plainDialect,
} from './dialect.ts'
import { modelError } from './errors.ts'
import type { ModelAccess } from './failure-texts.ts'
import { type AnyLanguageModel, asLanguageModel, languageModelName } from './language-model.ts'
import { merged } from './metadata.ts'
import { costOf, type ModelPrice, priceOf } from './model-prices.ts'
import { promptOf } from './prompt.ts'
import { type RetryPolicy, retried } from './retry.ts'

/** How a model of the AI SDK becomes one of ours, and the default options of its calls: those of a request
 *  take precedence. */
export interface ModelOfOptions extends ModelOptions {
  /** The id of the model. Default: `<provider>/<model>` of the AI SDK. */
  readonly id?: string
  /** Keys to remove from error messages. */
  readonly keys?: readonly string[]
  /** How the model is reached, for errors that name the setting to check. */
  readonly access?: ModelAccess
  /** `false` disables retries. */
  readonly retry?: RetryPolicy | false
  /** What the model costs. Default: the published price, if it is known. */
  readonly price?: ModelPrice
  /** How to write a context for the provider. Default: by the provider's name. */
  readonly dialect?: Dialect
}

/** Makes a `Model` of any language model of the AI SDK 5 to 7: `modelOf(createMistral()('mistral-large'))`.
 *  Calls go directly to the provider's client, without state between them. Throws InvalidError for other
 *  values. */
export function modelOf(given: AnyLanguageModel, options: ModelOfOptions = {}): Model {
  const languageModel = asLanguageModel(given)
  const id = options.id ?? languageModelName(languageModel)
  const dialect = options.dialect ?? dialectOf(languageModel.provider)
  const model: Model = { id, stream: request => call(languageModel, request, id, dialect, options) }
  return options.retry === false ? model : retried(model, options.retry)
}

async function* call(
  languageModel: LanguageModelV4,
  request: ModelRequest,
  id: string,
  dialect: Dialect,
  options: ModelOfOptions,
): AsyncGenerator<ModelEvent> {
  const { signal } = request
  signal?.throwIfAborted()
  const names = toolNames(request)
  const builder = answerBuilder(names.fromProvider, languageModel.modelId)
  let reader: ReadableStreamDefaultReader<LanguageModelV4StreamPart> | undefined
  // Closes the connection if the reader stops early. A failed stream rejects here again; its error was
  // already thrown.
  const close = () => void reader?.cancel().catch(() => {})
  signal?.addEventListener('abort', close)
  try {
    const asked = callOptions(request, dialect, names, languageModel.modelId, options)
    const { stream } = await unlessAborted(languageModel.doStream(asked), signal)
    reader = stream.getReader()
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      signal?.throwIfAborted()
      if (next.value.type === 'stream-start')
        for (const ignored of ignoredOptions(next.value.warnings, id, asked)) request.onIgnored?.(ignored)
      const event = builder.take(next.value)
      if (event !== null) yield event
    }
    signal?.throwIfAborted()
    yield { type: 'answer', answer: withCost(builder.whole(), options.price ?? priceOf(id)) }
  } catch (error) {
    if (signal?.aborted) throw signal.reason
    const { keys = [], access = {} } = options
    throw modelError(error, id, { keys, access, hasBegun: reader !== undefined })
  } finally {
    signal?.removeEventListener('abort', close)
    close()
  }
}

/** Adds the cost of an answer, if the price is known and the provider has not reported a cost. */
function withCost(answer: ModelAnswer, price: ModelPrice | null): ModelAnswer {
  const cost = price === null || answer.usage.cost !== undefined ? null : costOf(answer.usage, price)
  return cost === null ? answer : { ...answer, usage: { ...answer.usage, cost } }
}

/** Our names of the options that a provider's client may warn about. */
const optionNames: Readonly<Record<string, IgnoredOption['option']>> = {
  maxOutputTokens: 'maxOutput',
  temperature: 'temperature',
  topP: 'topP',
  stopSequences: 'stop',
  seed: 'seed',
}

/** The options of a call that the provider does not use as given. */
function ignoredOptions(
  warnings: readonly SharedV4Warning[],
  model: string,
  asked: LanguageModelV4CallOptions,
): readonly IgnoredOption[] {
  return warnings.flatMap(warning => {
    const feature = warning.type === 'unsupported' ? warning.feature : ''
    const option = Object.hasOwn(optionNames, feature) ? optionNames[feature] : undefined
    if (option === undefined || asked[feature as keyof typeof asked] === undefined) return []
    return [{ model, option, reason: ('details' in warning && warning.details) || null }]
  })
}

function callOptions(
  request: ModelRequest,
  dialect: Dialect,
  names: ToolNames,
  model: string,
  defaults: ModelOfOptions,
): LanguageModelV4CallOptions {
  const tools = (request.tools ?? []).map(tool => toolOf(tool, names))
  const prompt = promptOf(request, dialect, names, model)
  const unthought = hasUnthoughtCalls(prompt) ? dialect.unthought : {}
  const {
    maxOutput = defaults.maxOutput,
    temperature = defaults.temperature,
    topP = defaults.topP,
    stop = defaults.stop,
    seed = defaults.seed,
  } = request
  const providerOptions = [dialect.options, defaults.providerOptions, request.providerOptions, unthought]
  return {
    prompt,
    ...(tools.length > 0 && { tools }),
    ...(maxOutput !== undefined && { maxOutputTokens: maxOutput }),
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { topP }),
    ...(stop !== undefined && { stopSequences: [...stop] }),
    ...(seed !== undefined && { seed }),
    ...(request.signal !== undefined && { abortSignal: request.signal }),
    providerOptions: providerOptions.reduce<SharedV4ProviderOptions>(
      (all, some) => merged(all, some as SharedV4ProviderOptions | undefined) ?? all,
      {},
    ),
  }
}

/** Whether a call of the current turn lacks the thinking that must precede it. */
function hasUnthoughtCalls(prompt: LanguageModelV4Prompt): boolean {
  const current = prompt.slice(prompt.findLastIndex(message => message.role === 'user') + 1)
  return current.some(
    ({ role, content }) =>
      role === 'assistant' &&
      content[0]?.type !== 'reasoning' &&
      content.some(part => part.type === 'tool-call'),
  )
}

function toolOf({ name, description, schema }: ToolSpec, names: ToolNames): LanguageModelV4FunctionTool {
  const inputSchema = {
    properties: {},
    ...schema,
    type: 'object',
  } as LanguageModelV4FunctionTool['inputSchema']
  return { type: 'function', name: names.toProvider(name), description, inputSchema }
}

function dialectOf(provider: string): Dialect {
  if (provider.startsWith('anthropic')) return anthropicDialect
  if (provider.startsWith('openai.responses')) return openaiDialect
  if (provider.startsWith('openai')) return { ...chatDialect('openai'), thinking: 'own' }
  if (provider.startsWith('google.generative-ai')) return googleDialect
  return plainDialect
}
