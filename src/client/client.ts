import type { BranchHeadJson, BranchJson } from '../api/branch.ts'
import type { CompatConversationJson } from '../api/compat.ts'
import type { ConversationJson } from '../api/conversation.ts'
import type { EventJson } from '../api/event.ts'
import type { StoredMessageJson } from '../api/message.ts'
import type {
  AppendedJson,
  AskedJson,
  DoneJson,
  PageJson,
  ResetDoneJson,
  ResolvedJson,
} from '../api/receipt.ts'
import type { SearchHitJson } from '../api/search-hit.ts'
import type { StatsJson } from '../api/stats.ts'
import type { StretchJson } from '../api/stretch.ts'
import type { SummaryJson } from '../api/summary.ts'
import type { TurnJson } from '../api/turn.ts'
import type { TurnEventJson } from '../api/turn-event.ts'
import { type ApprovalClient, approvalMethods } from './approval-methods.ts'
import { type FollowedJson, type FollowRequest, followEvents } from './follow.ts'
import { readEvents } from './read-events.ts'
import type {
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
import { createSend, type RawBody, type Send, type SendRequest, type SendSettings } from './send.ts'
import { type TaskClient, taskMethods } from './task-methods.ts'

/** A client of the HTTP service. Its methods have the names of the operations in the OpenAPI document. They
 *  throw ServiceError. */
export interface Client extends TaskClient, ApprovalClient {
  /** Sends a request of your own to a path below `/api/v1`. */
  readonly send: Send

  /** A page of conversations, most recently used first. */
  listConversations(
    query?: ListConversationsRequest,
    options?: RequestOptions,
  ): Promise<PageJson<ConversationJson>>
  /** All conversations that match, page by page. */
  conversations(query?: ListConversationsRequest, options?: RequestOptions): AsyncGenerator<ConversationJson>
  /** Creates a conversation. */
  createConversation(conversation?: NewConversationRequest, options?: WriteOptions): Promise<ConversationJson>
  /** The branch with a key, or a new conversation. */
  findOrCreate(
    key: string,
    conversation?: Omit<NewConversationRequest, 'key'>,
    options?: RequestOptions,
  ): Promise<FoundConversation>
  /** A conversation with the messages of its active branch. */
  getConversation(
    id: string,
    range?: { readonly limit?: number; readonly before?: number },
    options?: RequestOptions,
  ): Promise<CompatConversationJson>
  /** The newest conversation of a task. */
  getTaskConversation(
    task: string,
    query?: { readonly project?: string; readonly limit?: number; readonly before?: number },
    options?: RequestOptions,
  ): Promise<CompatConversationJson>
  /** Changes fields of a conversation. */
  updateConversation(
    id: string,
    patch: PatchConversationRequest,
    options?: RequestOptions & { readonly ifVersion?: number },
  ): Promise<ConversationJson>
  /** Moves a conversation to the trash. */
  trashConversation(id: string, options?: RequestOptions): Promise<DoneJson>
  /** Takes a conversation out of the trash. */
  restoreConversation(
    id: string,
    options?: RequestOptions,
  ): Promise<{ readonly conversation: ConversationJson; readonly keys_taken: readonly string[] }>
  /** Empties a branch, and keeps its messages on another one. With an idempotency key, which becomes a part
   *  of that branch's name, the call is repeated safely. */
  resetConversation(
    id: string,
    reset?: { readonly keep_system_message?: boolean; readonly branch?: string },
    options?: WriteOptions,
  ): Promise<ResetDoneJson>

  /** A range of a path: the newest messages, or those from a depth on. */
  readPath(id: string, section?: SectionRequest, options?: RequestOptions): Promise<PathSectionJson>
  /** A page of the messages of all branches, by seq. */
  listMessages(
    id: string,
    query?: ListMessagesRequest,
    options?: RequestOptions,
  ): Promise<PageJson<StoredMessageJson>>
  /** Appends messages to a branch. Is repeated safely: each call has an idempotency key. */
  appendMessages(id: string, append: AppendBody, options?: WriteOptions): Promise<AppendedJson>
  /** Reads a message. */
  getMessage(id: string, options?: RequestOptions): Promise<StoredMessageJson>
  /** Deletes a message. */
  deleteMessage(
    id: string,
    query?: { readonly recursive?: boolean; readonly reason?: string },
    options?: RequestOptions,
  ): Promise<RemovedJson>
  /** Sets the label of a message, or removes it with null. */
  labelMessage(id: string, label: string | null, options?: RequestOptions): Promise<StoredMessageJson>
  /** Removes the content of a message for good. */
  eraseMessage(
    id: string,
    erasure: { readonly reason: string; readonly by?: string },
    options?: RequestOptions,
  ): Promise<RemovedJson>
  /** The bytes of a large part of a message. */
  getBlob(hash: string, options?: RequestOptions): Promise<Uint8Array>

  /** All branches of a conversation, read in pages. */
  listBranches(id: string, options?: RequestOptions): Promise<readonly BranchJson[]>
  /** Creates a branch at any message. */
  createBranch(id: string, fork?: ForkRequest, options?: WriteOptions): Promise<BranchHeadJson>
  /** Moves, renames or activates a branch, or changes its key. */
  updateBranch(
    id: string,
    name: string,
    patch: BranchPatchRequest,
    options?: RequestOptions,
  ): Promise<BranchHeadJson>
  /** Deletes a branch, and keeps its messages. */
  deleteBranch(id: string, name: string, options?: RequestOptions): Promise<DoneJson>

  /** The shape of a conversation without its contents. */
  getStructure(id: string, page?: PageParameters, options?: RequestOptions): Promise<PageJson<StretchJson>>
  /** The turns of a conversation. */
  listTurns(
    id: string,
    query?: PageParameters & {
      readonly status?: TurnJson['status']
      readonly order?: 'ascending' | 'descending'
    },
    options?: RequestOptions,
  ): Promise<PageJson<TurnJson>>
  /** One turn. */
  getTurn(id: string, key: string, options?: RequestOptions): Promise<TurnJson>
  /** The summaries of a conversation. */
  listSummaries(id: string, page?: PageParameters, options?: RequestOptions): Promise<PageJson<SummaryJson>>
  /** The trace records of a conversation. */
  listEvents(
    id: string,
    query?: PageParameters & { readonly types?: readonly string[] },
    options?: RequestOptions,
  ): Promise<PageJson<EventJson>>

  /** Asks a model, and returns when the prompt is stored. The turn continues in the service. */
  ask(id: string, prompt: AskRequest, options?: WriteOptions): Promise<AskedJson>
  /** Asks a model, and returns the events of the turn as they come. The turn continues if the reader
   *  stops. */
  askEvents(id: string, prompt: AskRequest, options?: WriteOptions): AsyncGenerator<TurnEventJson>
  /** Stops a turn, and keeps what has arrived. */
  stopTurn(id: string, key: string, options?: RequestOptions): Promise<TurnJson>

  /** Activity and tasks of the tenant and contents of conversations as they come. Reconnects by itself, and
   *  continues without a gap. No message is repeated. */
  follow(request?: FollowRequest): AsyncGenerator<FollowedJson, void, void>

  /** Searches messages. */
  search(
    query: string,
    search?: SearchRequest,
    options?: RequestOptions,
  ): Promise<PageJson<SearchHitJson> & { readonly unindexed: number }>
  /** What an id, the beginning of one, a key or `id:branch` refers to. */
  resolve(text: string, options?: RequestOptions): Promise<ResolvedJson>
  /** Counts, usage and cost. */
  getStats(options?: RequestOptions): Promise<StatsJson>
  /** Native lines of one conversation, or of all of them, as they arrive. */
  exportLines(id?: string, options?: RequestOptions): Promise<ReadableStream<Uint8Array>>
  /** A conversation as Markdown or as a page of HTML, as it arrives. */
  exportText(
    id: string,
    format: 'markdown' | 'html',
    query?: { readonly branch?: string; readonly all?: boolean },
    options?: RequestOptions,
  ): Promise<ReadableStream<Uint8Array>>
  /** Imports native lines. */
  importLines(lines: RawBody, options?: RequestOptions): Promise<ImportedJson>
}

/** Creates a client. It works in Node and in browsers.
 *
 * @example
 * ```ts
 * import { createHash } from 'node:crypto'
 * import { openStore } from 'skein'
 * import { createClient } from 'skein/client'
 * import { createService } from 'skein/server'
 *
 * // A service in the same process. Usually `skein serve` runs elsewhere, and `url` is its address.
 * await using store = await openStore(':memory:')
 * const hash = createHash('sha256').update('example').digest('hex')
 * await store.addToken({ hash, name: 'example', scopes: ['read', 'write'] })
 * const service = createService({ storeOf: async () => store, tokens: store })
 * const send = (input: string | URL | Request, init?: RequestInit) => service.fetch(new Request(input, init))
 *
 * const client = createClient({ url: 'http://localhost', token: 'example', fetch: send })
 * const { conversation } = await client.findOrCreate('bot:greeter')
 * await client.appendMessages(conversation.id, { messages: [{ role: 'user', content: 'Hello' }] })
 * const { items } = await client.readPath(conversation.id)
 * console.log(items.length, items[0]?.role) // 1 user
 * ```
 */
export function createClient(settings: SendSettings): Client {
  const send = createSend(settings)

  /** The JSON of a response. */
  async function get<T>(path: string, request: SendRequest = {}): Promise<T> {
    return (await (await send(path, request)).json()) as T
  }

  function write<T>(
    method: NonNullable<SendRequest['method']>,
    path: string,
    body: unknown,
    options: RequestOptions = {},
  ): Promise<T> {
    return get(path, { method, ...(body !== undefined && { body }), ...options })
  }

  /** Sends a POST with an idempotency key, so that it can be repeated. */
  function post(body: unknown, { idempotencyKey, ...options }: WriteOptions = {}): SendRequest {
    const key = idempotencyKey ?? crypto.randomUUID()
    return { method: 'POST', body, repeatable: true, headers: { 'idempotency-key': key }, ...options }
  }

  /** Sends a POST with the caller's key, if there is one. A random key would become the name of a branch. */
  function postIfNamed(body: unknown, options: WriteOptions = {}): SendRequest {
    const request = post(body, options)
    return options.idempotencyKey === undefined ? { ...request, headers: {}, repeatable: false } : request
  }

  return {
    send,
    listConversations: (query, options) => get('/conversations', { ...withQuery(query), ...options }),
    async *conversations(query = {}, options) {
      for (let after: string | null | undefined; after !== null; ) {
        const request = { ...query, ...(after !== undefined && { after }) }
        const page = await get<PageJson<ConversationJson>>('/conversations', {
          ...withQuery(request),
          ...options,
        })
        yield* page.items
        after = page.next
      }
    },
    createConversation(conversation = {}, options) {
      const named = conversation.id !== undefined
      const request = post(conversation, options)
      return get('/conversations', named ? { ...request, headers: {}, repeatable: false } : request)
    },
    findOrCreate: (key, conversation = {}, options) =>
      write('PUT', `/keys/${encode(key)}`, conversation, options),
    getConversation: (id, range, options) => get(conversation(id), { ...withQuery(range), ...options }),
    getTaskConversation: (task, query, options) =>
      get(`/tasks/${encode(task)}/conversation`, { ...withQuery(query), ...options }),
    updateConversation: (id, patch, { ifVersion, ...options } = {}) =>
      get(conversation(id), {
        method: 'PATCH',
        body: patch,
        ...(ifVersion !== undefined && { headers: { 'if-match': `"v${ifVersion}"` } }),
        ...options,
      }),
    trashConversation: (id, options) => write('DELETE', conversation(id), undefined, options),
    restoreConversation: (id, options) => write('POST', `${conversation(id)}/restore`, undefined, options),
    resetConversation: (id, reset = {}, options) =>
      get(`${conversation(id)}/reset`, postIfNamed(reset, options)),

    readPath: (id, section, options) =>
      get(`${conversation(id)}/messages`, { ...withQuery(section), ...options }),
    listMessages: (id, query = {}, options) =>
      get(`${conversation(id)}/messages`, { ...withQuery({ order: 'descending', ...query }), ...options }),
    appendMessages: (id, append, options) => get(`${conversation(id)}/messages`, post(append, options)),
    getMessage: (id, options) => get(`/messages/${encode(id)}`, options),
    deleteMessage: (id, query, options) =>
      get(`/messages/${encode(id)}`, { method: 'DELETE', ...withQuery(query), ...options }),
    labelMessage: (id, label, options) => write('PUT', `/messages/${encode(id)}/label`, { label }, options),
    eraseMessage: (id, erasure, options) => write('POST', `/messages/${encode(id)}/erase`, erasure, options),
    getBlob: async (hash, options) =>
      new Uint8Array(await (await send(`/blobs/${encode(hash)}`, options)).arrayBuffer()),

    async listBranches(id, options) {
      const all: BranchJson[] = []
      for (let after: string | null | undefined; after !== null; ) {
        const query = withQuery({ limit: 1_000, ...(after && { after }) })
        const page: PageJson<BranchJson> = await get(`${conversation(id)}/branches`, { ...query, ...options })
        all.push(...page.items)
        after = page.next
      }
      return all
    },
    createBranch: (id, fork = {}, options) => get(`${conversation(id)}/branches`, postIfNamed(fork, options)),
    updateBranch: (id, name, patch, options) =>
      write('PATCH', `${conversation(id)}/branches/${encode(name)}`, patch, options),
    deleteBranch: (id, name, options) =>
      write('DELETE', `${conversation(id)}/branches/${encode(name)}`, undefined, options),

    getStructure: (id, page, options) =>
      get(`${conversation(id)}/structure`, { ...withQuery(page), ...options }),
    listTurns: (id, query, options) => get(`${conversation(id)}/turns`, { ...withQuery(query), ...options }),
    getTurn: (id, key, options) => get(`${conversation(id)}/turns/${encode(key)}`, options),
    listSummaries: (id, page, options) =>
      get(`${conversation(id)}/summaries`, { ...withQuery(page), ...options }),
    listEvents: (id, query, options) =>
      get(`${conversation(id)}/events`, { ...withQuery(query), ...options }),

    ask: (id, prompt, options) => get(`${conversation(id)}/turns`, post(prompt, options)),
    async *askEvents(id, prompt, options) {
      const request = post(prompt, options)
      const headers = { ...request.headers, accept: 'text/event-stream' }
      const { body } = await send(`${conversation(id)}/turns`, { ...request, headers })
      for await (const { data } of readEvents(body!)) yield JSON.parse(data) as TurnEventJson
    },
    stopTurn: (id, key, options) =>
      write('DELETE', `${conversation(id)}/turns/${encode(key)}`, undefined, options),

    ...approvalMethods(get),
    ...taskMethods(get, post),
    follow: (request = {}) => followEvents(send, request),

    search: (q, search = {}, options) => get('/search', { ...withQuery({ q, ...search }), ...options }),
    resolve: (text, options) => get(`/resolve/${encode(text)}`, options),
    getStats: options => get('/stats', options),
    exportLines: async (id, options) =>
      (await send(id === undefined ? '/export' : `${conversation(id)}/export`, options)).body!,
    exportText: async (id, format, query = {}, options) =>
      (await send(`${conversation(id)}/export`, { ...withQuery({ format, ...query }), ...options })).body!,
    importLines: (lines, options) =>
      get('/import', { method: 'POST', raw: { type: 'application/x-ndjson', body: lines }, ...options }),
  }
}

function conversation(id: string): string {
  return `/conversations/${encode(id)}`
}

function encode(text: string): string {
  return encodeURIComponent(text)
}

function withQuery(query: object | undefined): { readonly query?: Readonly<Record<string, unknown>> } {
  return query === undefined ? {} : { query: query as Readonly<Record<string, unknown>> }
}
