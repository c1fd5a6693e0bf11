import { checkFunction, checkMethod, checkName, checkObject, checkText } from '../../core/check.ts'
import type { FollowOptions } from '../../core/follow.ts'
import { type ConversationId, conversationId, messageId } from '../../core/ids.ts'
import { made, thenDo } from '../../core/large/stepwise.ts'
import type { ReadOptions, Store } from '../../core/ports.ts'
import { parseQuery } from '../../core/search/query.ts'
import { checkHash, checkReason } from '../check/fields.ts'
import * as checked from '../check/input.ts'
import type { Engine } from '../engine/engine.ts'
import { append } from '../programs/append.ts'
import * as approvals from '../programs/approvals.ts'
import * as branches from '../programs/branches.ts'
import { readBlob } from '../programs/content.ts'
import * as conversations from '../programs/conversations.ts'
import { deleteMessages, eraseMessages } from '../programs/delete.ts'
import { addEvents, listEvents } from '../programs/events.ts'
import { countConversations, listConversations, listDirectories } from '../programs/list.ts'
import { ifVersion, versionOf } from '../programs/lookup.ts'
import { uniqueLengths, versionsOf } from '../programs/overview.ts'
import { readPathSection } from '../programs/path-section.ts'
import { getMessages, listPath, tail } from '../programs/read.ts'
import * as find from '../programs/resolve.ts'
import { save, setLabel } from '../programs/save.ts'
import { clearIndex } from '../programs/search/search-index.ts'
import { listStretches } from '../programs/structure.ts'
import * as summaries from '../programs/summaries.ts'
import * as tokens from '../programs/tokens.ts'
import { restoreConversation, trashConversation } from '../programs/trash.ts'
import * as turns from '../programs/turns.ts'
import type { FollowState } from './follow-cursor.ts'
import { type FollowHub, followHub } from './follow-hub.ts'
import { followTasks } from './follow-tasks.ts'
import { listInPieces, purgeOne, sweepAll } from './in-pieces.ts'
import { indexAll } from './index-search.ts'
import { keepTasks, readTaskRecords } from './keep-tasks.ts'
import { measureOne, measureStore } from './measure-store.ts'
import {
  appendRequest,
  isLargeAppend,
  isLargeSave,
  largeAppend,
  largeSave,
  prepareItems,
} from './new-messages.ts'
import { readActivityStart, readFollowCursor } from './read-follow-cursor.ts'
import { overviewsOf } from './read-overviews.ts'
import { searchStore } from './search-store.ts'

/** The Store port over an engine: checks the input, then runs the program for the operation.
 *  `schemaVersion` reads the number of the last migration. */
export function storeOver(engine: Engine, schemaVersion: () => Promise<number>): Store {
  checkMethod(engine, 'engine', 'query', 'an engine (docs/drivers.md)')
  checkFunction(schemaVersion, 'schemaVersion')
  return storeWithHub(engine, schemaVersion, followHub(engine))
}

/** The same with a hub of the driver, which it can wake. */
export function storeWithHub(given: Engine, schemaVersion: () => Promise<number>, hub: FollowHub): Store {
  const engine = wakingAfterWrites(given, hub)
  const { query, read, write, source } = engine
  const now = () => source.now()
  const lease = () => ({ now: now(), leaseMs: given.leaseMs })

  return {
    getConversation: async id => query(() => conversations.getConversation(conversationId(id))),
    versionOf: async id => query(() => versionOf(conversationId(id))),
    getBranch: async ref => query(() => branches.getBranch(checked.checkRef(ref))),
    listBranches: async (id, page = {}) =>
      read(() => branches.listBranches(conversationId(id), checked.checkPage(page))),
    findByKey: async key => query(() => find.findByKey(checkName(key, 'key'), now())),
    findByTask: async (task, project = null) => {
      const wanted = taskRef(task, project)
      return read(() => conversations.findByTask(wanted, now()))
    },
    findByAgentLink: async (agent, foreignId) =>
      read(() => find.findByAgentLink(checkName(agent, 'agent'), checkName(foreignId, 'foreignId'))),
    listAgentLinks: async (ref, page = {}) =>
      read(() => branches.listAgentLinks(checked.checkRef(ref), checked.checkPage(page))),
    resolve: async text => read(() => find.resolve(checkName(text, 'id'))),

    getMessages: async (ids, options = {}) => read(() => getMessages(checked.checkMessageIds(ids), options)),
    listPath: async (id, options = {}) =>
      read(() => listPath(messageId(id), checked.checkPathPage(options)), expected(options)),
    readPathSection: async (end, options = {}) =>
      read(() => readPathSection(messageId(end), checked.checkPathSection(options))),
    tail: async (id, budget, options = {}) =>
      read(() => tail(messageId(id), checked.checkBudget(budget), options), expected(options)),
    listStretches: async (id, page = {}) =>
      read(() => listStretches(conversationId(id), checked.checkPage(page))),
    readBlob: async hash => {
      const wanted = checkHash(hash, 'hash')
      const { programStepper } = await import('./program-stepper.ts')
      return programStepper(engine)(readBlob(wanted))
    },
    listTurns: async (id, options = {}) =>
      query(() => turns.listTurns(conversationId(id), checked.checkTurnListing(options))),
    findTurn: async (id, key) => query(() => turns.findTurn(conversationId(id), checkName(key, 'turn key'))),
    readDraft: async (id, key, page = {}) =>
      read(() => turns.readDraft(conversationId(id), checkName(key, 'turn key'), checked.checkPage(page))),
    listSummaries: async (id, options = {}) =>
      query(() => summaries.listSummaries(conversationId(id), checked.checkOrderedPage(options))),
    listEvents: async (id, options = {}) =>
      query(() => listEvents(conversationId(id), checked.checkEventListing(options))),

    create: async (conversation = {}) => {
      const request = { ...checked.checkNew(conversation), id: newId(conversation.id), now: now() }
      return write(() => conversations.create(request))
    },
    findOrCreate: async (key, conversation = {}) => {
      checkName(key, 'key')
      const request = { ...checked.checkNew(conversation), id: newId(conversation.id), now: now() }
      // Fast path: usually the conversation exists, and no write lock is needed.
      const found = await query(() => find.findByKey(key, request.now))
      return found ? { ...found, created: false } : write(() => conversations.findOrCreate(key, request))
    },
    findOrCreateByTask: async (task, conversation = {}) => {
      const wanted = taskRef(task, conversation.project ?? null)
      const request = { ...checked.checkNew(conversation), id: newId(conversation.id), now: now() }
      const found = await read(() => conversations.findByTask(wanted, request.now))
      return found
        ? { ...found, created: false }
        : write(() => conversations.findOrCreateByTask(wanted, request))
    },
    updateConversation: async (id, patch) => {
      checked.checkPatch(patch)
      return write(() => conversations.updateConversation(conversationId(id), patch, now()))
    },
    append: async (branch, expectedHead, messages, options = {}) => {
      const committed = !given.isJoined()
      if (isLargeAppend(messages)) {
        const making = largeAppend(branch, expectedHead, messages, options, lease())
        return { ...(await engine.writeLarge(making)), committed }
      }
      const request = appendRequest(branch, expectedHead, messages, options, lease())
      return { ...(await write(() => append(request))), committed }
    },
    save: async (id, items) => {
      const conversation = conversationId(id)
      if (isLargeSave(items)) return engine.writeLarge(largeSave(conversation, items, now))
      const prepared = prepareItems(items)
      return write(() => save(conversation, prepared, now()))
    },
    setLabel: async (id, label) => {
      if (label !== null) checkName(label, 'label')
      return write(() => setLabel(messageId(id), label))
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
      return storeWithHub(conditional, schemaVersion, hub)
    },

    createBranch: async (id, at, branch) => {
      checked.checkNewBranch(branch)
      const head = checked.optionalMessageId(at, 'at')
      return write(() => branches.createBranch(conversationId(id), head, branch, now()))
    },
    renameBranch: async (ref, name) =>
      write(() => branches.renameBranch(checked.checkRef(ref), checkName(name, 'name'))),
    deleteBranch: async ref => write(() => branches.deleteBranch(checked.checkRef(ref))),
    moveBranch: async (ref, expectedHead, to) => {
      const [from, target] = [
        checked.optionalMessageId(expectedHead, 'expectedHead'),
        checked.optionalMessageId(to, 'to'),
      ]
      return write(() => branches.moveBranch(checked.checkRef(ref), from, target, now()))
    },
    activateBranch: async ref => write(() => branches.activateBranch(checked.checkRef(ref))),
    setKey: async (ref, key) => {
      if (key !== null) checkName(key, 'key')
      return write(() => branches.setKey(checked.checkRef(ref), key, now()))
    },
    moveKey: async (ref, to) => write(() => branches.moveKey(checked.checkRef(ref), checkName(to, 'to'))),
    setAgentLink: async (ref, link) =>
      write(() => branches.setAgentLink(checked.checkRef(ref), checked.checkLink(link), now())),
    removeAgentLink: async (ref, agent, directory) => {
      checked.checkAgent(agent, directory)
      return write(() => branches.removeAgentLink(checked.checkRef(ref), agent, directory))
    },
    reset: async (ref, { keepPrompt = true, archiveAs } = {}) => {
      const name = archiveAs === undefined ? null : checkName(archiveAs, 'archiveAs')
      return write(() => branches.reset(checked.checkRef(ref), keepPrompt, name, now()))
    },

    leaseMs: given.leaseMs,
    putDraft: async (id, key, holder, pieces) => {
      checkName(key, 'turn key')
      checked.checkHolder(holder)
      checked.checkPieces(pieces)
      return write(() => turns.putDraft(conversationId(id), key, holder, pieces, lease()), 'relaxed')
    },
    renewTurn: async (id, key, holder) => {
      checked.checkHolder(holder)
      return write(() => turns.renewTurn(conversationId(id), checkName(key, 'turn key'), holder, lease()))
    },
    endTurn: async (id, key, end) => {
      checked.checkTurnEnd(end)
      return write(() => turns.endTurn(conversationId(id), checkName(key, 'turn key'), end, now()))
    },
    reopenTurn: async (ref, holder) => {
      checked.checkHolder(holder)
      return write(() => turns.reopenTurn(checked.checkRef(ref), holder, lease()))
    },
    addEvents: async (id, events) => {
      checked.checkEvents(events)
      return write(() => addEvents(conversationId(id), events, now()))
    },
    listApprovals: async (options = {}) => {
      checked.checkApprovalListing(options)
      return read(() => approvals.listApprovals(options))
    },
    getApproval: async (id, approval) =>
      read(() => approvals.getApproval(conversationId(id), checkName(approval, 'approval'))),
    answerApproval: async (id, approval, answer) => {
      checked.checkApprovalAnswer(answer)
      const named = checkName(approval, 'approval')
      return write(() => approvals.answerApproval(conversationId(id), named, answer, now()))
    },
    claimSummary: async (id, range, holder) => {
      checked.checkRange(range)
      checked.checkHolder(holder)
      return write(() => summaries.claimSummary(conversationId(id), range, holder, lease()))
    },
    putSummary: async (id, summary) => {
      checked.checkSummary(summary)
      return write(() => summaries.putSummary(conversationId(id), summary, now()))
    },

    listConversations: async (options = {}) => query(() => listConversations(checked.checkListing(options))),
    countConversations: async (filter = {}) => query(() => countConversations(checked.checkFilter(filter))),
    listDirectories: async (options = {}) =>
      query(() => listDirectories(checked.checkDirectoryListing(options))),
    readOverviews: async listed => overviewsOf(engine, checked.checkListed(listed)),
    uniqueLengths: async ids => query(() => uniqueLengths(checked.checkConversationIds(ids))),
    versionsOf: async ids => query(() => versionsOf(checked.checkConversationIds(ids))),
    listMessages: async options => listInPieces(engine, checked.checkMessageListing(options)),

    search: async (text, options = {}) => {
      checked.checkSearch(options)
      const parsed = parseQuery(checkText(text, 'query', 16_384), new Date(now()))
      return searchStore(engine, parsed, options)
    },

    deleteMessages: async (ids, options = {}) => {
      const reason = options.reason === undefined ? null : checkReason(options.reason, 'reason')
      const request = {
        ids: checked.checkMessageIds(ids),
        recursive: options.recursive ?? false,
        reason,
        now: now(),
      }
      const deleted = await write(() => deleteMessages(request), 'removing')
      return { ...deleted, remains: deleted.deleted > 0 ? await engine.removeTraces() : [] }
    },
    eraseMessages: async (ids, erasure) => {
      checkObject(erasure, 'erasure', 'an object with by and reason')
      const { by, reason } = erasure
      const who = { by: checkName(by, 'by'), reason: checkReason(reason, 'reason') }
      const request = { ids: checked.checkMessageIds(ids), ...who, now: now() }
      const erased = await write(() => eraseMessages(request), 'removing')
      return { ...erased, remains: erased.erased > 0 ? await engine.removeTraces() : [] }
    },
    trash: async id => write(() => trashConversation(conversationId(id), now())),
    restore: async id => write(() => restoreConversation(conversationId(id), now())),
    purge: async id => purgeOne(engine, conversationId(id)),

    sweep: async (options = {}) => sweepAll(engine, checked.checkSweep(options)),
    indexSearch: async (options = {}) => indexAll(engine, options),
    rebuildSearch: async () => {
      if (await engine.indexElsewhere('clear')) engine.noteUnindexed()
      else await write(clearIndex)
    },
    compact: async () => engine.compact(),
    verify: async (options = {}) => {
      checkObject(options, 'options')
      // Loaded lazily: only `verify` needs it.
      const { verifyAll } = await import('./verify.ts')
      return verifyAll(engine, options)
    },
    measureConversation: async id => measureOne(engine, conversationId(id)),
    measure: async since => measureStore(engine, checked.checkSince(since)),
    schemaVersion,

    readRecords: async function* (id) {
      const { readRecords } = await import('./read-records.ts')
      for await (const page of readRecords(engine, conversationId(id))) yield* page
    },
    readTaskRecords: () => readTaskRecords(engine),
    writeRecords: async records => {
      const { checkRecords, partsIn, writeRecords } = await import('../programs/records/write-records.ts')
      const given = checkRecords(records)
      const program = () => writeRecords(given, now())
      const values = partsIn(given)
      return values.length === 0 ? write(program) : engine.writeLarge(made({ program, values }))
    },

    ...keepTasks(engine),
    addToken: async token => {
      const added = { ...checked.checkToken(token), id: source.uuid() }
      return write(() => tokens.addToken(added, now()))
    },
    findToken: async hash => query(() => tokens.findToken(checkHash(hash, 'hash'))),
    listTokens: async (page = {}) => query(() => tokens.listTokens(checked.checkPage(page))),
    revokeToken: async id => write(() => tokens.revokeToken(checkName(id, 'id'), now())),

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
      return followTasks(engine, hub, readActivityStart(start), signal)
    },

    close,
    [Symbol.asyncDispose]: close,
  }

  // Loaded lazily: few programs follow.
  async function* follow(id: ConversationId, from: FollowState | null, how: FollowOptions) {
    const { followConversation } = await import('./follow-conversation.ts')
    yield* followConversation(engine, hub, id, from, how)
  }

  async function* followActivity(since: number | null, signal: AbortSignal | undefined) {
    const follow = await import('./follow-activity.ts')
    yield* follow.followActivity(engine, hub, since, signal)
  }

  async function close(): Promise<void> {
    hub.close()
    await engine.close()
  }

  function newId(given: string | undefined) {
    return conversationId(given ?? source.uuid())
  }
}

/** An engine whose writes wake the iterations that follow. */
function wakingAfterWrites(engine: Engine, hub: FollowHub): Engine {
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

function taskRef(task: string, project: string | null): conversations.TaskRef {
  return {
    task: checkName(task, 'task'),
    project: project === null ? null : checkName(project, 'project'),
  }
}
