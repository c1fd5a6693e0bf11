// The schemas of `--json` and of the HTTP API. One file for each resource, with the names that the OpenAPI
// document gives it; `request/` has bodies and parameters, `command/` the output of each command. The
// mappings in `src/api/` import only the types, so that a command does not load zod.
export { answeredApprovalSchema, approvalSchema, approvalsSchema } from './approval.ts'
export { blockSchema, otherBlockSchema } from './block.ts'
export { branchHeadSchema, branchSchema } from './branch.ts'
export { compatConversationSchema, compatMessageSchema } from './compat.ts'
export { conversationFields, conversationSchema } from './conversation.ts'
export { eventSchema } from './event.ts'
export { firstProblem, type RequestProblem } from './first-problem.ts'
export {
  activitySchema,
  closingEventSchema,
  followEventSchema,
  followStreamSchema,
  taskEventSchema,
} from './follow-event.ts'
export { importedSchema, recordTallies } from './imported.ts'
export { messageSchema, storedMessageSchema } from './message.ts'
export { problemSchema } from './problem.ts'
export { appendedSchema, askedSchema, doneSchema, resetDoneSchema, resolvedSchema } from './receipt.ts'
export { searchHitSchema } from './search-hit.ts'
export { statsSchema } from './stats.ts'
export { stretchSchema } from './stretch.ts'
export { summarySchema } from './summary.ts'
export { deletedTasksSchema, dispatchSchema, taskSchema } from './task.ts'
export { tokenSchema } from './token.ts'
export { draftPieceSchema, turnSchema } from './turn.ts'
export { turnEventSchema } from './turn-event.ts'
export { tokenKinds, usageSchema } from './usage.ts'
export {
  countSchema,
  dollarsSchema,
  idSchema,
  type JsonOf,
  metadataSchema,
  nullOr,
  pageSchema,
  type ReadonlyJson,
  roleSchema,
  timeSchema,
  toolResultsSchema,
} from './values.ts'
