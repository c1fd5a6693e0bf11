import { checkName, checkObject, checkText } from '../../core/check.ts'
import { conversationId } from '../../core/ids.ts'
import { made } from '../../core/large/stepwise.ts'
import type { Store } from '../../core/ports.ts'
import { parseQuery } from '../../core/search/query.ts'
import { checkHash, checkReason } from '../check/fields.ts'
import * as checked from '../check/input.ts'
import { deleteMessages, eraseMessages } from '../programs/delete.ts'
import { countConversations, listConversations, listDirectories } from '../programs/list.ts'
import { uniqueLengths, versionsOf } from '../programs/overview.ts'
import { clearIndex } from '../programs/search/search-index.ts'
import * as tokens from '../programs/tokens.ts'
import { restoreConversation, trashConversation } from '../programs/trash.ts'
import { listInPieces, purgeOne, sweepAll } from './in-pieces.ts'
import { indexAll } from './index-search.ts'
import { measureOne, measureStore } from './measure-store.ts'
import { overviewsOf } from './read-overviews.ts'
import { searchStore } from './search-store.ts'
import type { ManageMethodName, StoreContext } from './store-with-hub.ts'

/** The methods for lists, search, deletion, upkeep and tokens. They are loaded when one of them is
 *  first called. */
export function manageMethods({ engine }: StoreContext): Pick<Store, ManageMethodName> {
  const { query, write, source } = engine
  const now = () => source.now()

  return {
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
      // A part of its own: only `verify` needs it.
      const { verifyAll } = await import('./verify.ts')
      return verifyAll(engine, options)
    },
    measureConversation: async id => measureOne(engine, conversationId(id)),
    measure: async since => measureStore(engine, checked.checkSince(since)),
    writeRecords: async records => {
      const { checkRecords, partsIn, writeRecords } = await import('../programs/records/write-records.ts')
      const given = checkRecords(records)
      const program = () => writeRecords(given, now())
      const values = partsIn(given)
      return values.length === 0 ? write(program) : engine.writeLarge(made({ program, values }))
    },
    addToken: async token => {
      const added = { ...checked.checkToken(token), id: source.uuid() }
      return write(() => tokens.addToken(added, now()))
    },
    findToken: async hash => query(() => tokens.findToken(checkHash(hash, 'hash'))),
    listTokens: async (page = {}) => query(() => tokens.listTokens(checked.checkPage(page))),
    revokeToken: async id => write(() => tokens.revokeToken(checkName(id, 'id'), now())),
  }
}
