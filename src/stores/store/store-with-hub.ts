import { checkName } from '../../core/check.ts'
import type { FollowOptions } from '../../core/follow.ts'
import { type ConversationId, conversationId, messageId } from '../../core/ids.ts'
import { thenDo } from '../../core/large/stepwise.ts'
import type { AppendOptions, ReadOptions, Store } from '../../core/ports.ts'
import type { TaskKeeper } from '../../core/task.ts'
import * as checked from '../check/input.ts'
import type { Engine } from '../engine/engine.ts'
import { append } from '../programs/append.ts'
import * as conversations from '../programs/conversations.ts'
import { findWithTail } from '../programs/find-with-tail.ts'
import { getBranch, ifVersion, versionOf } from '../programs/lookup.ts'
import { getMessages, listPath, tail } from '../programs/read.ts'
import * as find from '../programs/resolve.ts'
import { save } from '../programs/save.ts'
import type { FollowState } from './follow-cursor.ts'
import { type HubOnDemand, hubOnDemand } from './hub-on-demand.ts'
import { type CallOrder, callOrder, loadedPart, methodsOnDemand } from './methods-on-demand.ts'
import {
  appendRequest,
  isLargeAppend,
  isLargeSave,
  largeAppend,
  largeSave,
  prepareItems,
} from './new-messages.ts'
import { readActivityStart, readFollowCursor } from './read-follow-cursor.ts'

/** What the methods of a store work with. */
export interface StoreContext {
  readonly engine: Engine
  /** The id of a new conversation. */
  newId(given: string | undefined): ConversationId
}

/** Loads all methods, so that every call runs at once. */
export async function loadMethods(): Promise<void> {
  await Promise.all([turnPart.load(), managePart.load(), taskPart.load()])
}

/** To be called by an append that has been checked. If it opens a turn, the methods for its drafts and its
 *  end are loaded now: later, the process may have no file descriptor left. */
export function loadForTurn({ turn }: AppendOptions): void {
  if (turn?.status === 'open') void turnPart.load().catch(() => undefined)
}

/** The parts of the methods that are loaded on demand. */
export interface MethodParts {
  turnMethods(context: StoreContext): Pick<Store, TurnMethodName>
  manageMethods(context: StoreContext): Pick<Store, ManageMethodName>
  keepTasks(engine: Engine): TaskKeeper
}

/** The same for a file that contains the methods. */
export function setMethods({ turnMethods, manageMethods, keepTasks }: MethodParts): void {
  turnPart.set(turnMethods)
  managePart.set(manageMethods)
  taskPart.set(keepTasks)
}

const turnPart = /* @__PURE__ */ loadedPart(async () => (await import('./turn-methods.ts')).turnMethods)
const managePart = /* @__PURE__ */ loadedPart(async () => (await import('./manage-methods.ts')).manageMethods)
const taskPart = /* @__PURE__ */ loadedPart(async () => (await import('./keep-tasks.ts')).keepTasks)

export type TurnMethodName = (typeof turnMethodNames)[number]

const turnMethodNames = [
  ...['listBranches', 'findByTask', 'findByAgentLink', 'listAgentLinks', 'resolve'],
  ...['readPathSection', 'listStretches', 'readBlob', 'listTurns', 'findTurn', 'readDraft'],
  ...['listSummaries', 'listEvents', 'findOrCreateByTask', 'setLabel', 'createBranch', 'renameBranch'],
  ...['deleteBranch', 'moveBranch', 'activateBranch', 'setKey', 'moveKey', 'setAgentLink'],
  ...['removeAgentLink', 'reset', 'putDraft', 'renewTurn', 'endTurn', 'reopenTurn', 'addEvents'],
  ...['listApprovals', 'getApproval', 'answerApproval', 'claimSummary', 'putSummary'],
] as const

export type ManageMethodName = (typeof manageMethodNames)[number]

const manageMethodNames = [
  ...['listConversations', 'countConversations', 'listDirectories', 'readOverviews', 'uniqueLengths'],
  ...['versionsOf', 'listMessages', 'search', 'deleteMessages', 'eraseMessages', 'trash', 'restore'],
  ...['purge', 'sweep', 'indexSearch', 'rebuildSearch', 'compact', 'verify', 'measureConversation'],
  ...['measure', 'writeRecords', 'addToken', 'findToken', 'listTokens', 'revokeToken'],
] as const

const taskMethodNames = [
  ...['submitTask', 'dispatchTask', 'claimDispatch', 'claimThisDispatch', 'renewDispatch'],
  ...['linkDispatch', 'finishDispatch', 'releaseDispatch', 'reclaimDispatch', 'cancelTask'],
  ...['retryTask', 'getTask', 'listTasks', 'getDispatch', 'listDispatches', 'listRunningDispatches'],
  ...['countTasks', 'deleteTask', 'deleteProject'],
] as const

/** The Store port over an engine: checks the input, then runs the program for the operation. `schemaVersion`
 *  reads the number of the last migration. A driver that wakes its followers passes the hub. */
export function storeWithHub(
  given: Engine,
  schemaVersion: () => Promise<number>,
  hub: HubOnDemand = hubOnDemand(given),
  order: CallOrder = callOrder(),
): Store {
  const engine = wakingAfterWrites(given, hub)
  const { query, read, write, writeLarge } = inCallOrder(engine, order)
  const { source } = engine
  const context: StoreContext = { engine, newId }
  const now = () => source.now()
  const lease = () => ({ now: now(), leaseMs: given.leaseMs })

  return {
    getConversation: async id => query(() => conversations.getConversation(conversationId(id))),
    versionOf: async id => query(() => versionOf(conversationId(id))),
    getBranch: async ref => query(() => getBranch(checked.checkRef(ref))),
    findByKey: async key => query(() => find.findByKey(checkName(key, 'key'), now())),
    getMessages: async (ids, options = {}) => read(() => getMessages(checked.checkMessageIds(ids), options)),
    listPath: async (id, options = {}) =>
      read(() => listPath(messageId(id), checked.checkPathPage(options)), expected(options)),
    tail: async (id, budget, options = {}) =>
      read(() => tail(messageId(id), checked.checkBudget(budget), options), expected(options)),
    findWithTail: async (branch, budget, options = {}) => {
      const wanted = typeof branch === 'string' ? checkName(branch, 'key') : checked.checkRef(branch)
      const [size, how] = [checked.checkBudget(budget), checked.checkFindWithTail(options)]
      return read(() => findWithTail(wanted, size, how, now()), 'one')
    },
    create: async (conversation = {}) => {
      const request = { ...checked.checkNew(conversation), id: newId(conversation.id), now: now() }
      return write(() => conversations.create(request))
    },
    findOrCreate: async (key, conversation = {}) => {
      checkName(key, 'key')
      const wanted = { ...checked.checkNew(conversation), now: now() }
      // Fast path: usually the conversation exists, and neither a write lock nor a new id is needed. The
      // first id of a process takes milliseconds: Node loads its crypto.
      const found = await query(() => find.findByKey(key, wanted.now))
      if (found) return { ...found, created: false }
      const request = { ...wanted, id: newId(conversation.id) }
      return write(() => conversations.findOrCreate(key, request))
    },
    updateConversation: async (id, patch) => {
      checked.checkPatch(patch)
      return write(() => conversations.updateConversation(conversationId(id), patch, now()))
    },
    append: async (branch, expectedHead, messages, options = {}) => {
      const committed = !given.isJoined()
      if (isLargeAppend(messages)) {
        const making = largeAppend(branch, expectedHead, messages, options, lease())
        loadForTurn(options)
        return { ...(await writeLarge(making)), committed }
      }
      const request = appendRequest(branch, expectedHead, messages, options, lease())
      loadForTurn(options)
      return { ...(await write(() => append(request))), committed }
    },
    save: async (id, items) => {
      const conversation = conversationId(id)
      if (isLargeSave(items)) return writeLarge(largeSave(conversation, items, now))
      const prepared = prepareItems(items)
      return write(() => save(conversation, prepared, now()))
    },

    ifVersion: (id, version) => {
      const [conversation, versions] = [conversationId(id), checked.checkVersions(version)]
      const conditional: Engine = {
        ...given,
        write: (program, mode) => given.write(() => ifVersion(conversation, versions, program), mode),
        writeLarge: making =>
          given.writeLarge(
            thenDo(making, ({ program, values }) => ({
              program: () => ifVersion(conversation, versions, program),
              values,
            })),
          ),
      }
      return storeWithHub(conditional, schemaVersion, hub, order)
    },
    leaseMs: given.leaseMs,
    ...methodsOnDemand(turnMethodNames, turnPart, context, order),
    ...methodsOnDemand(manageMethodNames, managePart, context, order),
    ...methodsOnDemand(taskMethodNames, taskPart, engine, order),

    schemaVersion,
    readRecords: async function* (id) {
      const { readRecords } = await import('./read-records.ts')
      for await (const page of readRecords(engine, conversationId(id))) yield* page
    },
    readTaskRecords: async function* () {
      const { readTaskRecords } = await import('./keep-tasks.ts')
      yield* readTaskRecords(engine)
    },
    follow(id, options = {}) {
      const [known, how] = [conversationId(id), checked.checkFollow(options)]
      const from = how.after === undefined ? null : readFollowCursor(how.after)
      return follow(known, from, how)
    },
    followActivity(options = {}) {
      const { signal, ...start } = checked.checkFollowActivity(options)
      return followActivity(readActivityStart(start), signal)
    },
    followTasks(options = {}) {
      const { signal, ...start } = checked.checkFollowActivity(options)
      return followTasks(readActivityStart(start), signal)
    },
    close,
    [Symbol.asyncDispose]: close,
  }

  // Loaded lazily: few programs follow.
  async function* follow(id: ConversationId, from: FollowState | null, how: FollowOptions) {
    const { followConversation } = await import('./follow-conversation.ts')
    yield* hub.untilClosed(on => followConversation(engine, on, id, from, how))
  }

  async function* followActivity(since: number | null, signal: AbortSignal | undefined) {
    const follow = await import('./follow-activity.ts')
    yield* hub.untilClosed(on => follow.followActivity(engine, on, since, signal))
  }

  async function* followTasks(since: number | null, signal: AbortSignal | undefined) {
    const follow = await import('./follow-tasks.ts')
    yield* hub.untilClosed(on => follow.followTasks(engine, on, since, signal))
  }

  async function close(): Promise<void> {
    hub.close()
    await order.inOrder(() => engine.close())
  }

  function newId(given: string | undefined) {
    return conversationId(given ?? source.uuid())
  }
}

/** An engine whose transactions run in the order of the calls of a store. */
function inCallOrder(
  { query, read, write, writeLarge }: Engine,
  { inOrder }: CallOrder,
): Pick<Engine, 'query' | 'read' | 'write' | 'writeLarge'> {
  return {
    query: program => inOrder(() => query(program)),
    read: (program, expected) => inOrder(() => read(program, expected)),
    write: (program, mode) => inOrder(() => write(program, mode)),
    writeLarge: making => inOrder(() => writeLarge(making)),
  }
}

/** An engine whose writes wake the iterations that follow. */
function wakingAfterWrites(engine: Engine, hub: HubOnDemand): Engine {
  return {
    ...engine,
    write: (program, mode) => waking(engine.write(program, mode)),
    writeLarge: making => waking(engine.writeLarge(making)),
  }

  async function waking<T>(written: Promise<T>): Promise<T> {
    try {
      return await written
    } finally {
      // Also after a failure, whose outcome may be unknown.
      hub.wake()
    }
  }
}

/** How many statements a path needs, unless it has blobs. */
function expected({ wholeTurns = false }: ReadOptions): 'one' | 'many' {
  return wholeTurns ? 'many' : 'one'
}
