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
export type { Branch, BranchInfo, BranchRef, NewBranch } from './core/branch.ts'
export type {
  Conversation,
  ConversationKind,
  ConversationLinks,
  ConversationPatch,
  NewConversation,
  PromptPolicy,
  PromptRecord,
} from './core/conversation.ts'
export type { ErrorCode, IdCandidate } from './core/errors.ts'
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
export type { ConversationId, MessageId, NotFoundKind } from './core/ids.ts'
export { conversationId, messageId } from './core/ids.ts'
export type { Json, JsonObject } from './core/json.ts'
export type {
  ConversationFilter,
  ListConversations,
  ListDirectories,
  ListedConversation,
  ListMessages,
  ListPath,
  ListTurns,
  OrderedPageOptions,
  Page,
  PageOptions,
  Searcher,
  SearchHit,
  SearchOptions,
  SearchPage,
  Snippet,
  TextHit,
} from './core/listing.ts'
export type { BlobRef, Message, NewMessage, Role, RoleInput } from './core/message.ts'
export { contentOf, textOf } from './core/message.ts'
export { collectPages, itemsOf } from './core/pages.ts'
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
  Store,
} from './core/ports.ts'
export type { Tail, TailBudget } from './core/tail.ts'
export type { Turn, TurnStatus } from './core/turn.ts'
export type { OpenOptions } from './stores/open.ts'
export { openStore } from './stores/open.ts'
