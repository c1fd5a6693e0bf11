export { thisHolder } from '../system/holder.ts'
export { type RecorderSource, systemRecorderSource } from '../system/source.ts'
export { beginTurn } from './begin-turn.ts'
export { defaultLimits, type RecorderLimits } from './limits.ts'
export { type ModelRecorder, type RecordToOptions, recordTo } from './recorded.ts'
export type { Beside } from './recorded-exchanges.ts'
export type { Patience } from './recorded-line.ts'
export type {
  BeginTurn,
  PathPosition,
  Recorded,
  RecordStore,
  Trouble,
  TurnRecording,
  TurnReport,
} from './recording.ts'
export { takeOver } from './take-over.ts'
export { allSaved, type Unsaved, unsavedIn } from './waiting-turns.ts'
