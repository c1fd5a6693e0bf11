/** `skein/formats`: conversations as files.
 *
 *  The native format (docs/native-format.md) is JSON Lines and loses nothing: `encodeNative` writes it from
 *  the records of a store, `decodeNative` reads it, and `takeIn` writes records into a store. `skein export
 *  --native`, `skein import` and `skein copy` are built on these functions.
 *
 *  The functions are pure: they take a store's port and chunks of text, and open no file. */
export type {
  AgentLinkRecord,
  BlobRecord,
  BranchRecord,
  ConversationRecord,
  DraftRecord,
  EventRecord,
  MessagePosition,
  MessageRecord,
  RecordKind,
  RecordOutcome,
  RecordOutcomes,
  StoreRecord,
  SummaryRecord,
  TombstoneRecord,
  TurnRecord,
  UnreadableRecord,
} from '../core/record.ts'
export { type RecordTally, type SourcedRecord, type TakeInOptions, takeIn } from '../core/take-in.ts'
export type { DispatchRecord, TaskRecord } from '../core/task-record.ts'
export type { NativeProblem } from './native/decode.ts'
export {
  type DecodeNativeOptions,
  decodeNative,
  type EncodeNativeOptions,
  encodeNative,
} from './native/native-file.ts'
