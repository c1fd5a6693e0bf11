// The bodies and parameters of the requests of the HTTP API.
export { answerApprovalSchema, listApprovalsQuery } from './approval.ts'
export { branchPatchSchema, forkSchema } from './branch.ts'
export {
  compatQuery,
  contextQuery,
  exportConversationQuery,
  exportQuery,
  type ListConversationsQuery,
  listConversationsQuery,
  listEventsQuery,
  listMessagesQuery,
  listTurnsQuery,
  metadataQuery,
  orderedPageQuery,
  pageQuery,
  type SearchQueryParameters,
  searchQuery,
  taskQuery,
} from './list.ts'
export { deleteMessageQuery, eraseSchema, labelSchema } from './message.ts'
export {
  type ConversationPatchBody,
  conversationPatchSchema,
  findOrCreateSchema,
  type NewConversationBody,
  newConversationSchema,
  resetSchema,
} from './new-conversation.ts'
export {
  appendSchema,
  askSchema,
  type NewBlockBody,
  type NewMessageBody,
  newBlocksSchema,
  newMessageSchema,
} from './new-message.ts'
export {
  type DispatchRequestBody,
  dispatchRequestSchema,
  inProjectQuery,
  type ListTasksQuery,
  listDispatchesQuery,
  listTasksQuery,
  type NewTaskBody,
  newTaskSchema,
} from './task.ts'
