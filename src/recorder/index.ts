export { beginTurn } from './begin-turn.ts'
export { isDead, thisHolder } from './holder.ts'
export { defaultLimits, type RecorderLimits } from './limits.ts'
export type {
  BeginTurn,
  Recorded,
  RecordStore,
  Trouble,
  TurnRecording,
  TurnReport,
} from './recording.ts'
export { type RecorderSource, systemRecorderSource } from './source.ts'
export { takeOver } from './take-over.ts'
export { keepToolResults } from './tool-results.ts'
