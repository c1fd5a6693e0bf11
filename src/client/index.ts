/** `skein/client`: a typed client of the HTTP service, for Node and browsers. `createClient` makes one. */

// - `client.ts`: a method for each operation; `requests.ts`: their types
// - `send.ts`: one request, repeated if that is safe; problem details as a `ServiceError`
// - `read-events.ts`: server-sent events
// May import types of api. It uses no package and nothing of Node.

export type { TurnEventJson } from '../api/turn-event.ts'
export { type Client, createClient } from './client.ts'
export type {
  AppendBody,
  AskRequest,
  BranchPatchRequest,
  ForkRequest,
  FoundConversation,
  ImportedJson,
  ListConversationsRequest,
  ListMessagesRequest,
  NewConversationRequest,
  PageParameters,
  PatchConversationRequest,
  PathSectionJson,
  RemovedJson,
  RequestOptions,
  SearchRequest,
  SectionRequest,
  WriteOptions,
} from './requests.ts'
export { type RawBody, type Send, type SendRequest, type SendSettings, ServiceError } from './send.ts'
