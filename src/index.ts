/**
 * The store: conversations as trees of immutable messages, in SQLite or PostgreSQL. `openStore` opens one;
 * the errors, the ports and the values that they use are here too. The other entry points build on it.
 */

// The public API, by name. It exports `core` and `openStore`; every other folder with an `index.ts` is an
// entry point of its own. Only this file and `cli` open stores. A change here belongs into CHANGELOG.md, and
// test/api.test.ts lists the names. docs/map.md has a reading order of the folders.

export type {
  Block,
  BlockFields,
  KnownBlock,
  MediaBlock,
  NewBlock,
  OtherBlock,
  TextBlock,
  ThinkingBlock,
  ToolCallBlock,
  ToolResultBlock,
  UnknownBlock,
} from './core/block.ts'
export { isKnown, otherOf } from './core/block.ts'
export type { AgentLink, Branch, BranchInfo, BranchRef, NewAgentLink, NewBranch } from './core/branch.ts'
export type {
  Conversation,
  ConversationKind,
  ConversationLinks,
  ConversationPatch,
  NewConversation,
  ParentLink,
  PromptPolicy,
  PromptRecord,
  ToolResultPolicy,
} from './core/conversation.ts'
export { copyAsNewConversation, type PathCopier } from './core/copy-as-new.ts'
export type { ErrorCode, Holder, IdCandidate, MisconfiguredPart, ThingKind } from './core/errors.ts'
export {
  AmbiguousIdError,
  BusyError,
  ConflictError,
  ContextLengthError,
  CorruptError,
  ExpiredError,
  InvalidError,
  KeyReusedError,
  MisconfiguredError,
  MissingKeyError,
  ModelError,
  NotFoundError,
  OutcomeUnknownError,
  OwnedError,
  ReadOnlyError,
  SchemaTooNewError,
  SkeinError,
  StorageFullError,
  UnavailableError,
} from './core/errors.ts'
export type { EventType, ListEvents, NewEvent, TraceEvent } from './core/event.ts'
export type { ConversationId, MessageId } from './core/ids.ts'
export { conversationId, messageId } from './core/ids.ts'
export type { Json, JsonObject } from './core/json.ts'
export type {
  BlobMode,
  ConversationFilter,
  ListConversations,
  ListDirectories,
  ListedConversation,
  ListMessages,
  ListTurns,
  OrderedPageOptions,
  Page,
  PageOptions,
  Searcher,
  SearchHit,
  SearchOptions,
  SearchPage,
  SkippedRow,
  Snippet,
  TextHit,
} from './core/listing.ts'
export type { BlobRef, Erasure, Message, NewMessage, NonEmpty, Role, RoleInput } from './core/message.ts'
export { contentOf, textOf } from './core/message.ts'
export type {
  ContextMessage,
  Finish,
  Model,
  ModelAnswer,
  ModelEvent,
  ModelOptions,
  ModelRequest,
  ToolSpec,
} from './core/model.ts'
export { collectPages, itemsOf } from './core/pages.ts'
export type { PathReader } from './core/path.ts'
export { pathOf } from './core/path.ts'
export type {
  Appended,
  AppendOptions,
  BranchInConversation,
  ConversationReader,
  ConversationWriter,
  FoundOrCreated,
  Lister,
  MessageReader,
  ReadOptions,
  Resolved,
  SaveItem,
  Store,
  Tail,
  TailBudget,
} from './core/ports.ts'
export type { Source } from './core/source.ts'
export type { MessageRange, NewSummary, Summary, SummaryClaim } from './core/summary.ts'
export { estimateTokens } from './core/tokens.ts'
export type { DraftPiece, EndedTurn, Turn, TurnEnd, TurnStatus, TurnStep, Usage } from './core/turn.ts'
export { addUsage } from './core/turn.ts'
export type { TurnWriter } from './core/turn-writer.ts'
export type { OpenOptions } from './stores/open.ts'
export { openStore } from './stores/open.ts'
