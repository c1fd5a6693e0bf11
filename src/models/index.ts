export type { Sleep } from '../system/sleep.ts'
export { type Dialect, plainDialect } from './dialect.ts'
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
