import { isTextType } from '../core/tokens.ts'
import {
  anthropicDialect,
  chatDialect,
  type Dialect,
  googleDialect,
  ollamaDialect,
  openaiDialect,
} from './dialect.ts'
import type { ProviderName } from './open.ts'

const dialects: Readonly<Record<ProviderName, Dialect>> = {
  openai: openaiDialect,
  anthropic: anthropicDialect,
  google: googleDialect,
  ollama: ollamaDialect,
  compatible: chatDialect('compatible'),
}

/** Whether a file of this type is sent to a model, by the id of the model. Text is sent to all of them. Other
 *  types are sent if the provider takes them; the built-in model takes none. */
export function takesMedia(model: string, mime: string): boolean {
  if (isTextType(mime)) return true
  const [provider = ''] = model.split('/', 1)
  return Object.hasOwn(dialects, provider) && dialects[provider as ProviderName].takes(mime, 'data')
}
