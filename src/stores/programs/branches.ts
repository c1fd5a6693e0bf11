import type { AgentLink, Branch, BranchInfo, BranchRef, NewAgentLink, NewBranch } from '../../core/branch.ts'
import { ConflictError, checkNotOwned, InvalidError, KeyReusedError } from '../../core/errors.ts'
import type { ConversationId, MessageId } from '../../core/ids.ts'
import type { Page, PageOptions } from '../../core/listing.ts'
import { all, countChanges, first, type Program, run } from '../engine/engine.ts'
import { branchFromRow, linkFromRow } from '../engine/row-to-value.ts'
import type { BranchRow, Conv, LinkRow, PositionRow } from '../engine/rows.ts'
import { baseFinder } from './branch-bases.ts'
import { getConversation } from './conversations.ts'
import { defaultLimit, pageOf, readCursor } from './cursor.ts'
import { beforeRoots, headFields } from './insert-message.ts'
import { freeKey, giveKey, takeKey } from './keys.ts'
import { convOf, lockBranch, lockLiving, needBranch, needConversation, needMessageIn } from './lookup.ts'
import { heldBy } from './steps.ts'

/** How branches are listed. */
export interface BranchReading {
  /** Most branches that one statement reads. */
  readonly batch: number
  /** Returns null if it would read more runs to find where the branches leave the trunk. */
  readonly mostRuns: number
  /** Whether all statements see the same state. Otherwise it returns null if a message is missing. */
  readonly isSnapshot: boolean
}

const atOnce: BranchReading = {
  batch: Number.POSITIVE_INFINITY,
  mostRuns: Number.POSITIVE_INFINITY,
  isSnapshot: true,
}

export function* listBranches(
  id: ConversationId,
  page: PageOptions,
  { batch, mostRuns, isSnapshot }: BranchReading = atOnce,
): Program<Page<BranchInfo> | null> {
  const { conv, active_branch } = yield* needConversation(id)
  const { limit = defaultLimit, after } = page
  const found: BranchRow[] = []
  for (let from = after === undefined ? beforeAll : branchAfter(after); ; from = keyOf(found.at(-1)!)) {
    const wanted = Math.min(limit + 1 - found.length, batch)
    const rows = yield* all('listBranches', { conv, ...from, limit: wanted })
    found.push(...rows)
    if (rows.length < wanted || found.length > limit) break
  }
  const oldest =
    after === undefined ? found[0] : yield* first('listBranches', { conv, ...beforeAll, limit: 1 })
  const finder = baseFinder(conv, oldest ?? noHead, mostRuns)
  const shown = found.slice(0, limit)
  const items: BranchInfo[] = []
  while (items.length < shown.length) {
    const rows = shown.slice(items.length, items.length + batch)
    // The oldest branch is the trunk. Most conversations have no other.
    const seqs = yield* finder.basesOf(rows.map(row => (row.name === oldest?.name ? noHead : row)))
    if (!seqs) return null
    const wanted = [...new Set(seqs.filter(seq => seq !== null))]
    const places = wanted.length === 0 ? [] : yield* all('placesAt', { conv, seqs: wanted })
    if (!isSnapshot && (finder.lacksMessages() || places.length < wanted.length)) return null
    const bySeq = new Map(places.map(place => [place.seq, place]))
    for (const [i, row] of rows.entries()) {
      const base = bySeq.get(seqs[i] ?? -1)
      items.push({
        ...branchFromRow(id, row),
        active: row.name === active_branch,
        base: (base?.id ?? null) as MessageId | null,
        messagesSinceBase: row.head_depth - (base?.depth ?? -1),
      })
    }
  }
  return { ...pageOf(found, page, row => row, branchPosition), items }
}

const noHead = { head_seq: -1, head_run: -1 }

/** A position in the order of branches: oldest first, and `main` first among those of one moment. */
interface BranchKey {
  readonly created_at: number
  readonly not_main: number
  readonly name: string
}

const beforeAll: BranchKey = { created_at: Number.MIN_SAFE_INTEGER, not_main: 0, name: '' }

function keyOf({ created_at, name }: BranchRow): BranchKey {
  return { created_at, not_main: name === 'main' ? 0 : 1, name }
}

function branchPosition(row: BranchRow): readonly (string | number)[] {
  const { created_at, not_main, name } = keyOf(row)
  return [created_at, not_main, name]
}

function branchAfter(cursor: string): BranchKey {
  const [created_at, not_main, name] = readCursor(cursor, ['number', 'seq', 'string'])
  return { created_at: created_at as number, not_main: not_main as number, name: name as string }
}

export function* createBranch(
  id: ConversationId,
  at: MessageId | null,
  branch: NewBranch,
  now: number,
): Program<Branch> {
  const { name, key = null, title = null } = branch
  const isFork = at !== null && key === null
  if (isFork && (yield* countChanges('insertFork', { id, name, at, title, now })) > 0) {
    yield* run('bumpVersionOf', { id })
  } else {
    const { conv } = yield* lockLiving(id)
    const head = at === null ? beforeRoots : yield* needMessageIn(id, at)
    if (key !== null) yield* takeKey(key, now)
    const row = { conv, name, ...headFields(head), key, title, now }
    if ((yield* countChanges('insertBranch', row)) === 0) throw nameTaken(name)
    yield* run('bumpVersion', { conv })
  }
  return branchFromRow(id, {
    name,
    head_id: at,
    key,
    former_key: null,
    title,
    created_at: now,
    updated_at: now,
  })
}

export function* renameBranch(ref: BranchRef, to: string): Program<Branch> {
  const { conversation, branch } = yield* lockBranch(ref)
  const { conv } = conversation
  if (to !== branch.name) {
    yield* checkNameFree(conv, to)
    yield* renameRows(conv, branch.name, to)
    if (conversation.active_branch === branch.name) yield* run('setActiveBranch', { conv, name: to })
    else yield* run('bumpVersion', { conv })
  }
  return branchFromRow(ref.conversationId, yield* needBranch(conv, to))
}

/** Renames a branch in all tables. The caller has checked that the name is free. */
export function* renameRows(conv: Conv, name: string, to: string): Program<void> {
  yield* run('renameBranch', { conv, name, to })
  yield* run('renameInLinks', { conv, name, to })
  yield* run('renameInTurns', { conv, name, to })
}

export function* deleteBranch(ref: BranchRef): Program<void> {
  const { conversation, branch } = yield* lockBranch(ref)
  const { conv } = conversation
  if (conversation.active_branch === branch.name) {
    throw new InvalidError(
      'branch',
      `${JSON.stringify(branch.name)} is the active branch: activate another first`,
    )
  }
  yield* checkNotHeld(conv, branch.name)
  yield* run('deleteLinks', { conv, name: branch.name })
  yield* run('deleteBranch', { conv, name: branch.name })
  yield* run('bumpVersion', { conv })
}

export function* moveBranch(
  ref: BranchRef,
  expectedHead: MessageId | null,
  to: MessageId | null,
  now: number,
): Program<Branch> {
  const { conversation, branch } = yield* lockBranch(ref)
  const { conv } = conversation
  const head: PositionRow = to === null ? beforeRoots : yield* needMessageIn(ref.conversationId, to)
  yield* checkNotHeld(conv, branch.name)
  if (branch.head_id !== expectedHead) {
    throw new ConflictError(branch.name, expectedHead, branch.head_id as MessageId | null)
  }
  yield* run('setHead', { conv, name: branch.name, ...headFields(head), now })
  yield* run('bumpVersion', { conv })
  return branchFromRow(ref.conversationId, yield* needBranch(conv, branch.name))
}

export function* activateBranch(ref: BranchRef): Program<void> {
  const { conversation, branch } = yield* lockBranch(ref)
  yield* run('setActiveBranch', { conv: conversation.conv, name: branch.name })
}

export function* setKey(ref: BranchRef, key: string | null, now: number): Program<Branch> {
  const { conversation, branch } = yield* lockBranch(ref)
  const { conv } = conversation
  if (key !== branch.key) {
    if (key !== null) yield* takeKey(key, now)
    const former_key = key === null ? branch.key : branch.former_key
    yield* run('setBranchKey', { conv, name: branch.name, key, former_key, trashed_key: null })
    yield* run('bumpVersion', { conv })
  }
  return branchFromRow(ref.conversationId, yield* needBranch(conv, branch.name))
}

export function* moveKey(ref: BranchRef, to: string): Program<Branch> {
  const { conversation, branch } = yield* lockBranch(ref)
  const { conv } = conversation
  const target = yield* needBranch(conv, to)
  if (branch.name !== to) {
    if (branch.key !== null && target.key !== null)
      throw new KeyReusedError(target.key, `branch ${JSON.stringify(to)} has a key already`)
    yield* giveKey(conversation, branch, target)
  }
  return branchFromRow(ref.conversationId, yield* needBranch(conv, to))
}

export function* reset(
  ref: BranchRef,
  keepPrompt: boolean,
  archiveAs: string | null,
  now: number,
): Program<{ branch: Branch; archived: Branch | null }> {
  const { conversation, branch } = yield* lockBranch(ref)
  const { conv } = conversation
  checkNotOwned(yield* getConversation(ref.conversationId))
  yield* checkNotHeld(conv, branch.name)
  if (archiveAs !== null) yield* checkNameFree(conv, archiveAs)
  yield* run('deleteLinks', { conv, name: branch.name })
  const start = keepPrompt ? yield* systemRoot(conv, branch) : beforeRoots
  let archived: Branch | null = null
  if (branch.head_seq > start.seq || archiveAs !== null) {
    const name = archiveAs ?? (yield* freeArchive(conv))
    yield* freeKey(conv, branch)
    yield* renameRows(conv, branch.name, name)
    yield* run('insertBranch', {
      conv,
      name: branch.name,
      ...headFields(start),
      key: branch.key,
      title: branch.title,
      now,
    })
    archived = branchFromRow(ref.conversationId, yield* needBranch(conv, name))
  }
  if (!keepPrompt) yield* run('clearPrompt', { conv })
  yield* run('bumpVersion', { conv })
  return { branch: branchFromRow(ref.conversationId, yield* needBranch(conv, branch.name)), archived }
}

/** The first message of a branch if it is a system message, otherwise the place before all messages. */
function* systemRoot(conv: Conv, branch: BranchRow): Program<PositionRow> {
  if (branch.head_id === null) return beforeRoots
  const [root] = yield* all('path', { id: branch.head_id, from: 0, to: 0 })
  if (root?.role !== 'system') return beforeRoots
  const [place = beforeRoots] = yield* all('placesAt', { conv, seqs: [root.seq] })
  return place
}

function* freeArchive(conv: Conv): Program<string> {
  for (let n = 1; ; n++) {
    const name = `before-reset-${n}`
    if (!(yield* first('branch', { conv, name }))) return name
  }
}

export function* listAgentLinks(ref: BranchRef, page: PageOptions): Program<Page<AgentLink>> {
  const conv = yield* convOf(ref.conversationId)
  const { name } = yield* needBranch(conv, ref.name)
  const { limit = defaultLimit, after } = page
  const [agent, directory] = (after === undefined ? ['', ''] : readCursor(after, ['string', 'string'])) as [
    string,
    string,
  ]
  const rows = yield* all('listLinks', { conv, name, agent, directory, limit: limit + 1 })
  const linkOf = (row: LinkRow) => linkFromRow(ref.conversationId, row)
  return pageOf(rows, page, linkOf, row => [row.agent, row.directory])
}

export function* setAgentLink(ref: BranchRef, link: NewAgentLink, now: number): Program<void> {
  const { conversation, branch } = yield* lockBranch(ref)
  const { conv } = conversation
  const seen = link.seen === null ? null : yield* needMessageIn(ref.conversationId, link.seen)
  yield* run('putLink', {
    conv,
    name: branch.name,
    agent: link.agent,
    directory: link.directory,
    foreign_id: link.foreignId,
    seen_seq: seen?.seq ?? null,
    seen_id: seen?.id ?? null,
    now,
  })
  yield* run('bumpVersion', { conv })
}

export function* removeAgentLink(ref: BranchRef, agent: string, directory: string): Program<void> {
  const { conversation, branch } = yield* lockBranch(ref)
  const { conv } = conversation
  const removed = yield* countChanges('deleteLink', { conv, name: branch.name, agent, directory })
  if (removed > 0) yield* run('bumpVersion', { conv })
}

function* checkNameFree(conv: Conv, name: string): Program<void> {
  if (yield* first('branch', { conv, name })) throw nameTaken(name)
}

function nameTaken(name: string): KeyReusedError {
  return new KeyReusedError(name, `branch ${JSON.stringify(name)} already exists`, {
    hint: 'Choose another name',
  })
}

function* checkNotHeld(conv: Conv, name: string): Program<void> {
  const open = yield* first('openTurnOn', { conv, name })
  if (open) throw heldBy(open)
}
