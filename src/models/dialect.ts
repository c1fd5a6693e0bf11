import type { SharedV4ProviderOptions } from '@ai-sdk/provider'

/** How to write a context for one provider. All differences between providers are here. */
export interface Dialect {
  /** The field of `metadata.provider` with the data that it wants back. Null if unknown. */
  readonly key: string | null
  /** Whether a message of the user may have this kind of media, as bytes or as a URL that the provider
   *  fetches. */
  takes(mime: string, as: 'data' | 'url'): boolean
  /** Whether tool results may have media. If not, media follows them in a message of the user. */
  readonly mediaInResults: boolean
  /** Whether messages of the assistant may have media. */
  readonly mediaInAnswers: boolean
  /** Whether a system message may follow other messages. If not, it becomes labelled text of the user. */
  readonly laterSystem: boolean
  /** Whether a message has a single text. Several texts are joined by a blank line then. */
  readonly oneText: boolean
  /** Which thinking is sent back: thinking with the provider's metadata; the same, but only to the model that
   *  wrote it; or thinking without metadata of the current turn. */
  readonly thinking: 'own' | 'own_model' | 'loose'
  /** Whether a result can be marked as an error; if not, its text begins with `Error:`. */
  readonly marksErrors: boolean
  /** Options for every call. */
  readonly options?: SharedV4ProviderOptions
  /** Options for a turn in progress with calls of another provider, which have no thinking: the provider
   *  would refuse them with thinking enabled. */
  readonly unthought?: SharedV4ProviderOptions
  /** Options on the last system message and on the last message, so that the provider caches what precedes
   *  them. */
  readonly cacheMark?: SharedV4ProviderOptions
}

/** For unknown models: what nearly all of them accept. */
export const plainDialect: Dialect = {
  key: null,
  takes: (mime, as) =>
    /^image\/(png|jpeg|gif|webp)$/.test(mime) || (as === 'data' && mime === 'application/pdf'),
  mediaInResults: false,
  mediaInAnswers: false,
  laterSystem: false,
  oneText: true,
  thinking: 'own',
  marksErrors: false,
}

const cached = { anthropic: { cacheControl: { type: 'ephemeral' } } }

/** Signatures of thinking are sent back unchanged. Earlier messages are cached, because the provider would
 *  charge them again with every step. */
export const anthropicDialect: Dialect = {
  key: 'anthropic',
  takes: mime => /^image\/(png|jpeg|gif|webp)$/.test(mime) || mime === 'application/pdf',
  mediaInResults: true,
  mediaInAnswers: false,
  laterSystem: false,
  oneText: false,
  thinking: 'own',
  marksErrors: true,
  unthought: { anthropic: { thinking: { type: 'disabled' } } },
  cacheMark: cached,
}

/** The provider stores nothing: reasoning arrives encrypted, and is sent back with the output that it led to,
 *  only to the same model, because others refuse it. */
export const openaiDialect: Dialect = {
  key: 'openai',
  takes: mime => /^image\/(png|jpeg|gif|webp)$/.test(mime) || mime === 'application/pdf',
  mediaInResults: true,
  mediaInAnswers: false,
  laterSystem: true,
  oneText: false,
  thinking: 'own_model',
  marksErrors: false,
  options: { openai: { store: false } },
}

/** Signatures are on calls and texts, and are sent back with them. URLs are fetched only from Google's own
 *  services. */
export const googleDialect: Dialect = {
  key: 'google',
  takes: (mime, as) =>
    as === 'data' && /^image\/(png|jpeg|webp|heic|heif)$|^(audio|video)\/|^application\/pdf$/.test(mime),
  mediaInResults: false,
  mediaInAnswers: true,
  laterSystem: false,
  oneText: false,
  thinking: 'own',
  marksErrors: false,
}

/** Servers with OpenAI's chat protocol, each with its own templates. So: one system text, one text per
 *  message, strictly alternating roles, and thinking only in a turn with tools in progress (DeepSeek requires
 *  it there, and refuses it elsewhere). */
export function chatDialect(key: string): Dialect {
  return {
    key,
    takes: (mime, as) =>
      /^image\/(png|jpeg|gif|webp)$/.test(mime) ||
      (as === 'data' && /^audio\/(wav|mp3|mpeg)$|^application\/pdf$/.test(mime)),
    mediaInResults: false,
    mediaInAnswers: false,
    laterSystem: false,
    oneText: true,
    thinking: 'loose',
    marksErrors: false,
  }
}

/** Ollama does not fetch URLs and does not read documents. */
export const ollamaDialect: Dialect = {
  ...chatDialect('ollama'),
  takes: (mime, as) => as === 'data' && /^image\/(png|jpeg|webp)$/.test(mime),
}
