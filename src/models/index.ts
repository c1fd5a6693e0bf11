/**
 * Models behind one port. `openModel` opens a model of a provider by name, `modelOf` wraps a model of the AI
 * SDK, and `scripted` is a model without a provider, for tests and demos.
 */

// Start with `open.ts` (`openModel`), then `wrap.ts`, which makes one call: a prompt in, a stream of pieces
// out.
// - `anthropic.ts`, `openai.ts`, `google.ts`, `compatible.ts`: one file per provider; to add one, copy a
//   neighbour. `dialect.ts` says how each wants a context written
// - `prompt.ts` and its helpers: our messages as a provider's prompt
// - `answer.ts`, `collect.ts`, `content.ts`: a provider's stream as our blocks
// - `model-prices.ts`: what a call costs
// - `errors.ts`, `retry.ts`: failures as ours, and another attempt
// - `scripted*.ts`: the model without a provider
// May import core and system.

export type {
  ContextMessage,
  Finish,
  IgnoredOption,
  Model,
  ModelAnswer,
  ModelEvent,
  ModelOptions,
  ModelRequest,
  ModelRetry,
  ToolSpec,
} from '../core/model.ts'
export type { ModelErrorKind } from '../core/model-error-kind.ts'
export { addUsage, type Usage } from '../core/turn.ts'
export type { Sleep } from '../system/sleep.ts'
export { type Dialect, plainDialect } from './dialect.ts'
export type { ModelAccess } from './failure-texts.ts'
export type { AnyLanguageModel } from './language-model.ts'
export { type ModelPrice, priceOf, pricesAsOf } from './model-prices.ts'
export { type OpenModelOptions, openModel, type ProviderName } from './open.ts'
export { type RetryPolicy, retried } from './retry.ts'
export {
  type ScriptedAnswer,
  type ScriptedCall,
  type ScriptedOptions,
  type ScriptedReply,
  scripted,
} from './scripted.ts'
export { type ModelOfOptions, modelOf } from './wrap.ts'
