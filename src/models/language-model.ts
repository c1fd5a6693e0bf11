import type {
  LanguageModelV2,
  LanguageModelV3,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4Message,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolResultOutput,
  LanguageModelV4Usage,
  SharedV4Warning,
} from '@ai-sdk/provider'
import { InvalidError } from '../core/errors.ts'
import { base64Of } from './plain-json.ts'

/** A language model of the AI SDK 5, 6 or 7. */
export type AnyLanguageModel = LanguageModelV2 | LanguageModelV3 | LanguageModelV4

/** Whether a value is a language model of the AI SDK, by its structure. */
export function isLanguageModel(value: unknown): value is AnyLanguageModel {
  const { specificationVersion, doStream } = (value ?? {}) as Partial<AnyLanguageModel>
  return typeof specificationVersion === 'string' && typeof doStream === 'function'
}

/** The model with the interface of the AI SDK 7. Throws InvalidError if the value is not a language model of
 *  a version that is known. */
export function asLanguageModel(model: AnyLanguageModel): LanguageModelV4 {
  const version: unknown = model?.specificationVersion
  switch (version) {
    case 'v4':
      return model as LanguageModelV4
    case 'v3':
      return converted(model as LanguageModelV3, 'file-data')
    case 'v2':
      return converted(model as unknown as LanguageModelV3, 'media')
    default: {
      const found = version === undefined ? 'something else' : `specification ${String(version)}`
      throw new InvalidError('model', `must be a language model of the AI SDK 5, 6 or 7, got ${found}`)
    }
  }
}

/** The name in the form of `openModel`: `openai/gpt-5`. */
export function languageModelName({
  provider,
  modelId,
}: Pick<AnyLanguageModel, 'provider' | 'modelId'>): string {
  return `${provider.split('.')[0]}/${modelId}`
}

/** What an older version calls a file in a tool result. */
type ResultFile = 'file-data' | 'media'

/** A model of an older version behind the newest interface. The versions differ in the form of files, of tool
 *  results with parts, of usage and of the reason why an answer ended. */
function converted(model: LanguageModelV3, resultFile: ResultFile): LanguageModelV4 {
  const asked = (options: LanguageModelV4CallOptions) => {
    const prompt = options.prompt.map(message => olderMessage(message, resultFile))
    return { ...options, prompt } as unknown as Parameters<LanguageModelV3['doStream']>[0]
  }
  return {
    specificationVersion: 'v4',
    provider: model.provider,
    modelId: model.modelId,
    get supportedUrls() {
      return model.supportedUrls
    },
    async doGenerate(options) {
      const result = await model.doGenerate(asked(options))
      return {
        ...result,
        content: result.content.map(part => newerFile(part) as LanguageModelV4Content),
        finishReason: newerReason(result.finishReason),
        usage: newerUsage(result.usage),
        warnings: result.warnings.map(newerWarning),
      }
    },
    async doStream(options) {
      const result = await model.doStream(asked(options))
      return { ...result, stream: result.stream.pipeThrough(new TransformStream({ transform: newerPart })) }
    },
  }
}

function newerPart(
  part: { readonly type: string },
  controller: TransformStreamDefaultController<LanguageModelV4StreamPart>,
): void {
  controller.enqueue(newerStreamPart(part as OlderPart) as LanguageModelV4StreamPart)
}

interface OlderPart {
  readonly type: string
  readonly finishReason?: unknown
  readonly usage?: unknown
  readonly warnings?: readonly unknown[]
}

function newerStreamPart(part: OlderPart): object {
  switch (part.type) {
    case 'finish':
      return { ...part, finishReason: newerReason(part.finishReason), usage: newerUsage(part.usage) }
    case 'stream-start':
      return { ...part, warnings: (part.warnings ?? []).map(newerWarning) }
    default:
      return newerFile(part)
  }
}

function newerFile(part: { readonly type: string; readonly data?: unknown }): object {
  return part.type === 'file' ? { ...part, data: { type: 'data', data: part.data } } : part
}

function newerReason(reason: unknown): LanguageModelV4FinishReason {
  if (typeof reason !== 'string') return reason as LanguageModelV4FinishReason
  const unified = (reason === 'unknown' ? 'other' : reason) as LanguageModelV4FinishReason['unified']
  return { unified, raw: undefined }
}

/** Version 2 counts in one flat object. */
function newerUsage(usage: unknown): LanguageModelV4Usage {
  const given = (usage ?? {}) as Record<string, unknown>
  if (typeof given.inputTokens === 'object' && given.inputTokens !== null)
    return usage as LanguageModelV4Usage
  const count = (name: string) => (typeof given[name] === 'number' ? given[name] : undefined)
  return {
    inputTokens: {
      total: count('inputTokens'),
      noCache: undefined,
      cacheRead: count('cachedInputTokens'),
      cacheWrite: undefined,
    },
    outputTokens: { total: count('outputTokens'), text: undefined, reasoning: count('reasoningTokens') },
  }
}

/** Version 2 names the option of a warning `setting`. */
function newerWarning(warning: unknown): SharedV4Warning {
  const { type, setting, details } = warning as { type: string; setting?: string; details?: string }
  if (type !== 'unsupported-setting') return warning as SharedV4Warning
  return { type: 'unsupported', feature: setting ?? '', ...(details !== undefined && { details }) }
}

type PromptPart = Exclude<LanguageModelV4Message['content'], string>[number]

function olderMessage(message: LanguageModelV4Message, resultFile: ResultFile): object {
  if (typeof message.content === 'string') return message
  return { ...message, content: message.content.map(part => olderPart(part, resultFile)) }
}

function olderPart(part: PromptPart, resultFile: ResultFile): object {
  switch (part.type) {
    case 'file':
      return { ...part, data: olderData(part.data) }
    case 'tool-result':
      return { ...part, output: olderOutput(part.output, resultFile) }
    default:
      return part
  }
}

function olderData(data: Extract<PromptPart, { type: 'file' }>['data']): unknown {
  switch (data.type) {
    case 'data':
      return data.data
    case 'url':
      return data.url
    case 'text':
      return new TextEncoder().encode(data.text)
    default:
      return data
  }
}

function olderOutput(output: LanguageModelV4ToolResultOutput, resultFile: ResultFile): unknown {
  if (output.type !== 'content') return output
  return {
    ...output,
    value: output.value.map(part => {
      if (part.type !== 'file') return part
      const { mediaType, filename, data } = part
      if (data.type === 'url') return { type: 'file-url', url: data.url.href, mediaType }
      if (data.type !== 'data') return part
      const base64 = typeof data.data === 'string' ? data.data : base64Of(data.data)
      return { type: resultFile, data: base64, mediaType, filename }
    }),
  }
}
