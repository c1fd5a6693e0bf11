/** `skein/client`: a typed client of the HTTP service, for Node and browsers. `createClient` makes one. */

// - `client.ts`, `task-methods.ts`: a method for each operation; `requests.ts`: their types
// - `send.ts`: one request, repeated if that is safe; problem details as a `ServiceError`
// - `read-events.ts`: server-sent events; `follow.ts`: follows and reconnects
// May import types of api. It uses no package and nothing of Node.

export type { AnsweredApprovalJson, ApprovalJson, ApprovalsJson } from '../api/approval.ts'
export type { BranchHeadJson, BranchJson } from '../api/branch.ts'
export type { CompatConversationJson } from '../api/compat.ts'
export type { ConversationJson } from '../api/conversation.ts'
export type { EventJson } from '../api/event.ts'
export type { ActivityJson, FollowEventJson, TaskEventJson } from '../api/follow-event.ts'
export type { MessageJson, StoredMessageJson } from '../api/message.ts'
export type { ProblemJson } from '../api/problem.ts'
export type {
  AppendedJson,
  AskedJson,
  DoneJson,
  PageJson,
  ResetDoneJson,
  ResolvedJson,
} from '../api/receipt.ts'
export type { JsonOf, ReadonlyJson } from '../api/schema/index.ts'
export type { SearchHitJson } from '../api/search-hit.ts'
export type { StatsJson } from '../api/stats.ts'
export type { StretchJson } from '../api/stretch.ts'
export type { SummaryJson } from '../api/summary.ts'
export type { DeletedTasksJson, DispatchJson, TaskJson } from '../api/task.ts'
export type { TurnJson } from '../api/turn.ts'
export type { TurnEventJson } from '../api/turn-event.ts'
export type { UsageJson } from '../api/usage.ts'
export type { ApprovalClient } from './approval-methods.ts'
export { type Client, createClient } from './client.ts'
export type { FollowedJson, FollowRequest } from './follow.ts'
export type {
  AnswerApprovalRequest,
  AppendBody,
  AskRequest,
  BranchPatchRequest,
  DispatchRequest,
  ForkRequest,
  FoundConversation,
  ImportedJson,
  ListApprovalsRequest,
  ListConversationsRequest,
  ListMessagesRequest,
  ListTasksRequest,
  NewConversationRequest,
  NewTaskRequest,
  PageParameters,
  PatchConversationRequest,
  PathSectionJson,
  RemovedJson,
  RequestOptions,
  SearchRequest,
  SectionRequest,
  ShownTaskJson,
  TaskRequestOptions,
  WriteOptions,
} from './requests.ts'
export { type RawBody, type Send, type SendRequest, type SendSettings, ServiceError } from './send.ts'
export type { TaskClient } from './task-methods.ts'
