import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider'
import type { Model, ModelEvent, ModelRequest, ToolSpec } from '../core/model.ts'
import { unlessAborted } from '../core/wait.ts'
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
import { checkLanguageModel, languageModelName } from './language-model.ts'
import { merged } from './metadata.ts'
import { promptOf } from './prompt.ts'
import { type RetryPolicy, retried } from './retry.ts'
import { type ToolNames, toolNames } from './tool-names.ts'

/** How a model of the AI SDK becomes one of ours. */
export interface ModelOfOptions {
  /** The id of the model. Default: `<provider>/<model>` of the AI SDK. */
  readonly id?: string
  /** Keys to remove from error messages. */
  readonly keys?: readonly string[]
  /** `false` disables retries. */
  readonly retry?: RetryPolicy | false
  /** Further options of the provider for each call, by its name: `{ anthropic: { thinking: … } }`. */
  readonly providerOptions?: SharedV4ProviderOptions
  /** How to write a context for the provider. Default: by the provider's name. */
  readonly dialect?: Dialect
}

/** Makes a `Model` of any language model of the AI SDK: `modelOf(createMistral()('mistral-large'))`. Calls go
 *  directly to the provider's client, without state between them. Throws InvalidError for models of older SDK
 *  versions. */
export function modelOf(languageModel: LanguageModelV4, options: ModelOfOptions = {}): Model {
  checkLanguageModel(languageModel)
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
      const event = builder.take(next.value)
      if (event !== null) yield event
    }
    signal?.throwIfAborted()
    yield { type: 'answer', answer: builder.whole() }
  } catch (error) {
    if (signal?.aborted) throw signal.reason
    throw modelError(error, id, options.keys)
  } finally {
    signal?.removeEventListener('abort', close)
    close()
  }
}

function callOptions(
  request: ModelRequest,
  dialect: Dialect,
  names: ToolNames,
  model: string,
  { providerOptions = {} }: ModelOfOptions,
): LanguageModelV4CallOptions {
  const tools = (request.tools ?? []).map(tool => toolOf(tool, names))
  const prompt = promptOf(request, dialect, names, model)
  const unthought = hasUnthoughtCalls(prompt) ? dialect.unthought : {}
  return {
    prompt,
    ...(tools.length > 0 && { tools }),
    ...(request.maxOutput !== undefined && { maxOutputTokens: request.maxOutput }),
    ...(request.signal !== undefined && { abortSignal: request.signal }),
    providerOptions: [dialect.options, providerOptions, unthought].reduce<SharedV4ProviderOptions>(
      (all, some) => merged(all, some) ?? all,
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
