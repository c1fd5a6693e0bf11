import type { SharedV4ProviderOptions } from '@ai-sdk/provider'

/** How one provider wants a context written. What differs between providers is said here and nowhere else. */
export interface Dialect {
  /** The name of what it wants back: the field of `metadata.provider` that is its own. Null if we do not know it. */
  readonly key: string | null
  /** Whether a message of the user may hold this kind of media, as bytes or as a URL that the provider fetches. */
  takes(mime: string, as: 'data' | 'url'): boolean
  /** Whether results of tools may hold media; if not, media is shown right behind them, as from the user. */
  readonly mediaInResults: boolean
  /** Whether messages of the assistant may hold media. */
  readonly mediaInAnswers: boolean
  /** Whether a system message may stand behind others; if not, it is shown as labelled words of the user. */
  readonly laterSystem: boolean
  /** Whether a message is one text: several are joined by a blank line. */
  readonly oneText: boolean
  /** Which thinking goes back: what carries the provider's own metadata, the same but only to the model that thought
   *  it, or what has no metadata at all and belongs to the current turn. */
  readonly thinking: 'own' | 'own_model' | 'loose'
  /** Whether a result can be marked as an error; if not, its text begins with `Error:`. */
  readonly marksErrors: boolean
  /** Sent with every call. */
  readonly options?: SharedV4ProviderOptions
  /** Sent where a turn that is still going on has calls without the thinking that led to them, because another provider
   *  made them: they would be refused if thinking were on. */
  readonly unthought?: SharedV4ProviderOptions
  /** Put on the last system message and on the last message, so that what does not change is cached. */
  readonly cacheMark?: SharedV4ProviderOptions
}

/** For models that we know nothing about: what nearly all take. */
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

/** Signatures of thinking go back unchanged; what was said before is cached by the provider, as it charges for it again
 *  with every step otherwise. */
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

/** Nothing is left with the provider: reasoning comes encrypted, and goes back with what it led to, to the model that
 *  reasoned, because others refuse it. */
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

/** Signatures stand on calls and texts, and go back with them. URLs are fetched only from Google's own places. */
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

/** Servers that speak OpenAI's chat protocol, each with templates of its own: so one system text, one text per message,
 *  strict turns, and thinking only where a tool is still being used (DeepSeek wants it there, and refuses it elsewhere). */
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

/** Ollama fetches nothing, and reads no documents. */
export const ollamaDialect: Dialect = {
  ...chatDialect('ollama'),
  takes: (mime, as) => as === 'data' && /^image\/(png|jpeg|webp)$/.test(mime),
}
