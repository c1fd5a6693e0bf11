export { thisHolder } from '../system/holder.ts'
export { type RecorderSource, systemRecorderSource } from '../system/source.ts'
export { beginTurn } from './begin-turn.ts'
export { defaultLimits, type RecorderLimits } from './limits.ts'
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
