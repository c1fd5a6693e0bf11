export {
  type ScriptedAnswer,
  type ScriptedCall,
  type ScriptedOptions,
  type ScriptedReply,
  scripted,
} from './scripted.ts'
export type { Sleep } from './sleep.ts'
