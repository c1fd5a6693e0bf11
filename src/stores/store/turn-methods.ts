import { checkName } from '../../core/check.ts'
import { conversationId, messageId } from '../../core/ids.ts'
import type { Store } from '../../core/ports.ts'
import { checkHash } from '../check/fields.ts'
import * as checked from '../check/input.ts'
import * as approvals from '../programs/approvals.ts'
import * as branches from '../programs/branches.ts'
import { readBlob } from '../programs/content.ts'
import * as conversations from '../programs/conversations.ts'
import { addEvents, listEvents } from '../programs/events.ts'
import { readPathSection } from '../programs/path-section.ts'
import * as find from '../programs/resolve.ts'
import { setLabel } from '../programs/save.ts'
import * as summaries from '../programs/summaries.ts'
import * as turns from '../programs/turns.ts'
import { programStepper } from './program-stepper.ts'
import type { StoreContext, TurnMethodName } from './store-with-hub.ts'
import { listBranchesInPieces, listStretchesInPieces } from './structure-in-pieces.ts'

/** The methods for branches, turns, events, approvals and summaries, which agents use. They are loaded when
 *  one of them is first called. */
export function turnMethods({ engine, newId }: StoreContext): Pick<Store, TurnMethodName> {
  const { query, read, write, source } = engine
  const now = () => source.now()
  const lease = () => ({ now: now(), leaseMs: engine.leaseMs })

  return {
    listBranches: async (id, page = {}) =>
      listBranchesInPieces(engine, conversationId(id), checked.checkPage(page)),
    findByTask: async (task, project = null) => {
      const wanted = taskRef(task, project)
      return read(() => conversations.findByTask(wanted, now()))
    },
    findByAgentLink: async (agent, foreignId) =>
      read(() => find.findByAgentLink(checkName(agent, 'agent'), checkName(foreignId, 'foreignId'))),
    listAgentLinks: async (ref, page = {}) =>
      read(() => branches.listAgentLinks(checked.checkRef(ref), checked.checkPage(page))),
    resolve: async text => read(() => find.resolve(checkName(text, 'id'))),
    readPathSection: async (end, options = {}) =>
      read(() => readPathSection(messageId(end), checked.checkPathSection(options))),
    listStretches: async (id, page = {}) =>
      listStretchesInPieces(engine, conversationId(id), checked.checkPage(page)),
    readBlob: async hash => programStepper(engine)(readBlob(checkHash(hash, 'hash'))),
    listTurns: async (id, options = {}) =>
      query(() => turns.listTurns(conversationId(id), checked.checkTurnListing(options))),
    findTurn: async (id, key) => query(() => turns.findTurn(conversationId(id), checkName(key, 'turn key'))),
    readDraft: async (id, key, page = {}) =>
      read(() => turns.readDraft(conversationId(id), checkName(key, 'turn key'), checked.checkPage(page))),
    listSummaries: async (id, options = {}) =>
      query(() => summaries.listSummaries(conversationId(id), checked.checkOrderedPage(options))),
    listEvents: async (id, options = {}) =>
      query(() => listEvents(conversationId(id), checked.checkEventListing(options))),
    findOrCreateByTask: async (task, conversation = {}) => {
      const ref = taskRef(task, conversation.project ?? null)
      const wanted = { ...checked.checkNew(conversation), now: now() }
      const found = await read(() => conversations.findByTask(ref, wanted.now))
      if (found) return { ...found, created: false }
      const request = { ...wanted, id: newId(conversation.id) }
      return write(() => conversations.findOrCreateByTask(ref, request))
    },
    setLabel: async (id, label) => {
      if (label !== null) checkName(label, 'label')
      return write(() => setLabel(messageId(id), label))
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
  }
}

function taskRef(task: string, project: string | null): conversations.TaskRef {
  return {
    task: checkName(task, 'task'),
    project: project === null ? null : checkName(project, 'project'),
  }
}
