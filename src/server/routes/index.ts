import type { Route } from '../http/route.ts'
import { approvalRoutes } from './approvals.ts'
import { askRoutes } from './ask.ts'
import { blobRoutes } from './blobs.ts'
import { branchRoutes } from './branches.ts'
import { compatConversationRoutes } from './compat-conversation.ts'
import { contextRoutes } from './context.ts'
import { conversationRoutes } from './conversations.ts'
import { followRoutes } from './follow.ts'
import { messageRoutes } from './messages.ts'
import { partRoutes } from './parts.ts'
import type { RouteContext } from './route-context.ts'
import { searchRoutes } from './search.ts'
import { taskRoutes } from './tasks.ts'
import { transferRoutes } from './transfer.ts'

/** The routes below `/api/v1`, in the order of the documentation. */
export function allRoutes(context: RouteContext): readonly Route[] {
  return [
    ...conversationRoutes(context),
    ...compatConversationRoutes(context),
    ...messageRoutes(context),
    ...branchRoutes(),
    ...partRoutes(context),
    ...askRoutes(context),
    ...approvalRoutes(context),
    ...taskRoutes(),
    ...contextRoutes(),
    ...blobRoutes(),
    ...followRoutes(context),
    ...searchRoutes(context),
    ...transferRoutes(context),
  ]
}
