import type { TokenScope } from '../../src/core/access-token.ts'
import type { TestRequest } from './harness.ts'

/** What the requests of a walk refer to. */
export interface Things {
  readonly conversation: string
  /** A conversation that may be changed, trashed and reset. */
  readonly spare: string
  readonly message: string
  /** The last message of the spare conversation. */
  readonly leaf: string
  readonly task: string
  readonly blob: string
  readonly turn: string
  /** A task in the queue. */
  readonly work: string
  /** A conversation with a call that waits for an approval, and the approval. */
  readonly waiting: string
  readonly approval: string
}

/** One request for an operation. */
export interface Operation {
  readonly scope: TokenScope
  readonly status: number
  request(things: Things): { readonly path: string } & TestRequest
}

const get = (path: (things: Things) => string): Operation => ({
  scope: 'read',
  status: 200,
  request: things => ({ path: path(things) }),
})

const write = (
  method: string,
  path: (things: Things) => string,
  body?: (things: Things) => unknown,
  status = 200,
): Operation => ({
  scope: 'write',
  status,
  request: things => ({ method, path: path(things), ...(body && { body: body(things) }) }),
})

/** A request of the scope `ask` about a task. */
const order = (path: string, body?: unknown, status = 200): Operation => ({
  scope: 'ask',
  status,
  request: ({ work }) => ({
    method: 'POST',
    path: path.replace('{work}', encodeURIComponent(work)),
    ...(body !== undefined && { body }),
  }),
})

const header = '{"kind":"header","format":"skein","version":"1.0"}\n'

/** A request for each operation of the OpenAPI document, in an order in which all of them succeed. */
export const operations: Readonly<Record<string, Operation>> = {
  listConversations: get(() => '/conversations?limit=5&metadata.n=1&trashed=false'),
  createConversation: write(
    'POST',
    () => '/conversations',
    () => ({ title: 'New', tags: ['a'] }),
    201,
  ),
  findOrCreateByKey: write(
    'PUT',
    () => `/keys/${encodeURIComponent('a/b c')}`,
    () => ({ channel: 'test' }),
    201,
  ),
  getConversation: get(({ conversation }) => `/conversations/${conversation}`),
  getTaskConversation: get(({ task }) => `/tasks/${task}/conversation`),
  getBeadConversation: get(({ task }) => `/beads/${task}/conversation?limit=1`),
  updateConversation: write(
    'PATCH',
    ({ spare }) => `/conversations/${spare}`,
    () => ({ title: 'Other', metadata: { n: 1 } }),
  ),
  listMessages: get(({ conversation }) => `/conversations/${conversation}/messages?limit=2`),
  appendMessages: write(
    'POST',
    ({ conversation }) => `/conversations/${conversation}/messages`,
    () => ({ messages: [{ role: 'user', content: 'more' }] }),
    201,
  ),
  getMessage: get(({ message }) => `/messages/${message}`),
  labelMessage: write(
    'PUT',
    ({ message }) => `/messages/${message}/label`,
    () => ({ label: 'good' }),
  ),
  deleteMessage: write('DELETE', ({ leaf }) => `/messages/${leaf}?reason=test`),
  getBlob: get(({ blob }) => `/blobs/${blob}`),
  eraseMessage: {
    scope: 'admin',
    status: 200,
    request: ({ message }) => ({ path: `/messages/${message}/erase`, body: { reason: 'a password' } }),
  },
  listBranches: get(({ conversation }) => `/conversations/${conversation}/branches`),
  createBranch: write(
    'POST',
    ({ conversation }) => `/conversations/${conversation}/branches`,
    ({ message }) => ({ name: 'fork', at: message }),
    201,
  ),
  updateBranch: write(
    'PATCH',
    ({ conversation }) => `/conversations/${conversation}/branches/fork`,
    () => ({ name: 'renamed' }),
  ),
  deleteBranch: write('DELETE', ({ conversation }) => `/conversations/${conversation}/branches/renamed`),
  getStructure: get(({ conversation }) => `/conversations/${conversation}/structure`),
  listTurns: get(({ conversation }) => `/conversations/${conversation}/turns?order=descending`),
  getTurn: get(
    ({ conversation, turn }) => `/conversations/${conversation}/turns/${encodeURIComponent(turn)}`,
  ),
  listSummaries: get(({ conversation }) => `/conversations/${conversation}/summaries`),
  listEvents: get(({ conversation }) => `/conversations/${conversation}/events?types=resume,tool_started`),
  getContext: get(({ conversation }) => `/conversations/${conversation}/context?window=10000`),
  ask: {
    scope: 'ask',
    status: 202,
    request: ({ conversation }) => ({
      path: `/conversations/${conversation}/turns`,
      body: { content: 'Hello?' },
    }),
  },
  stopTurn: {
    scope: 'ask',
    status: 200,
    request: ({ conversation, turn }) => ({
      method: 'DELETE',
      path: `/conversations/${conversation}/turns/${encodeURIComponent(turn)}`,
    }),
  },
  listAllApprovals: get(() => '/approvals?status=any'),
  listApprovals: get(({ waiting }) => `/conversations/${waiting}/approvals`),
  getApproval: get(({ waiting, approval }) => `/conversations/${waiting}/approvals/${approval}`),
  answerApproval: {
    scope: 'ask',
    status: 200,
    request: ({ waiting, approval }) => ({
      path: `/conversations/${waiting}/approvals/${approval}`,
      body: { answer: 'deny', comment: 'not today' },
    }),
  },
  submitTask: order('/tasks', { description: 'Find the cause', project: 'web' }, 201),
  listTasks: get(() => '/tasks?status=queued&limit=5'),
  getTask: get(({ work }) => `/tasks/${encodeURIComponent(work)}?project=web`),
  listDispatches: get(({ work }) => `/tasks/${encodeURIComponent(work)}/dispatches`),
  dispatchTask: order('/tasks/{work}/dispatch', { words: 'Continue' }, 202),
  cancelTask: order('/tasks/{work}/cancel'),
  retryTask: order('/tasks/{work}/retry'),
  deleteTask: write('DELETE', ({ work }) => `/tasks/${encodeURIComponent(work)}`),
  deleteProject: write('DELETE', () => '/projects/web'),
  search: get(() => '/search?q=hello'),
  resolve: get(({ conversation }) => `/resolve/${conversation.slice(0, 12)}`),
  getStats: get(() => '/stats'),
  exportConversation: get(({ conversation }) => `/conversations/${conversation}/export?format=native`),
  exportAll: get(() => '/export'),
  importRecords: {
    scope: 'admin',
    status: 200,
    request: () => ({
      path: '/import',
      method: 'POST',
      body: header,
      headers: { 'content-type': 'application/x-ndjson' },
    }),
  },
  resetConversation: write(
    'POST',
    ({ spare }) => `/conversations/${spare}/reset`,
    () => ({ keep_system_message: true }),
  ),
  trashConversation: write('DELETE', ({ spare }) => `/conversations/${spare}`),
  restoreConversation: write('POST', ({ spare }) => `/conversations/${spare}/restore`),
}
