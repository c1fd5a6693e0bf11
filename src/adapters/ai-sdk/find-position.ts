import type { Branch, BranchRef } from '../../core/branch.ts'
import { branchStem } from '../../core/branch-name.ts'
import type { MessageId } from '../../core/ids.ts'
import type { Message, NewMessage } from '../../core/message.ts'
import { itemsOf } from '../../core/pages.ts'
import type { BeginTurn, RecordStore } from '../../recorder/recording.ts'
import { type Alignment, alignPrompt, type FingerprintedPrompt } from './align-prompt.ts'
import { type Fingerprint, fingerprintOf } from './fingerprint.ts'

/** Where the new messages of a prompt belong in the store. */
export interface PromptPosition {
  readonly branch: BranchRef
  /** The message that they follow; null for a new root. */
  readonly head: MessageId | null
  /** The messages that are not stored yet. */
  readonly fresh: readonly NewMessage[]
  /** `end`: at the end of the branch. `edited`: a message differs from the one of the branch. `earlier`: the
   *  prompt asks for another answer to an earlier question. `unknown`: no message of the prompt is stored. */
  readonly found: 'end' | 'edited' | 'earlier' | 'unknown'
}

/** Most siblings to compare with: a caller may return to an earlier version of its messages. */
const mostSiblings = 16

/** Finds where a prompt continues: at the end of the branch, at the end of one of its siblings, or inside one
 *  of them. `home` is the branch that the caller named. Reads as many messages of a path as the prompt has;
 *  more only if the prompt differs. */
export async function findPosition(
  store: RecordStore,
  ref: BranchRef,
  home: BranchRef,
  prompt: FingerprintedPrompt,
): Promise<PromptPosition> {
  let best = await alignWithBranch(store, await store.getBranch(ref), prompt)
  if (best.aligned.fit === 'end') return positionOf(best, prompt)
  for (const sibling of await siblingsOf(store, ref, home)) {
    const there = await alignWithBranch(store, sibling, prompt)
    if (isBetter(there.aligned, best.aligned)) best = there
  }
  return positionOf(best, prompt)
}

/** More common messages are better. With the same number, the end of a branch is better than a new
 *  sibling. */
function isBetter(a: Alignment, b: Alignment): boolean {
  if (a.shared !== b.shared) return a.shared > b.shared
  return a.shared > 0 && a.fit === 'end' && b.fit !== 'end'
}

interface BranchAlignment {
  readonly branch: BranchRef
  readonly aligned: Alignment
  readonly ids: readonly MessageId[]
}

async function alignWithBranch(
  store: RecordStore,
  { conversationId, name, head }: Branch,
  prompt: FingerprintedPrompt,
): Promise<BranchAlignment> {
  const branch = { conversationId, name }
  if (head === null) return { branch, aligned: alignPrompt(prompt, [], true), ids: [] }
  for (let length = lengthOf(prompt); ; length *= 4) {
    const { messages, older } = await store.tail(head, { messages: length })
    const aligned = alignPrompt(prompt, messages.map(fingerprintOf), older === 0)
    if (aligned.fit === 'end' || older === 0) return { branch, aligned, ids: messages.map(({ id }) => id) }
  }
}

/** How many stored messages the prompt may correspond to: each tool result has a message of its own. Plus
 *  those that were left out, and a margin. */
function lengthOf({ messages, fingerprints }: FingerprintedPrompt): number {
  const skipped = fingerprints.reduce((sum, one) => sum + one.skipped, 0)
  return messages.reduce(
    (sum, { role, content: blocks }) => sum + (role === 'tool_result' ? blocks.length : 1),
    16 + skipped,
  )
}

/** The branches with the same stem as this one (`main`, `main-2` …), newest first. A branch with a key of its
 *  own belongs to another caller and is left out, except the active one, which has the key of this caller. */
async function siblingsOf(store: RecordStore, ref: BranchRef, home: BranchRef): Promise<readonly Branch[]> {
  const stem = branchStem(ref.name)
  const { activeBranch } = await store.getConversation(ref.conversationId)
  const siblings: Branch[] = []
  for await (const branch of itemsOf(page => store.listBranches(ref.conversationId, page))) {
    const { name, key } = branch
    if (name === ref.name || branchStem(name) !== stem) continue
    if (key !== null && name !== home.name && name !== activeBranch) continue
    siblings.push(branch)
    siblings.sort((a, b) => b.updatedAt.getTime() - a.updatedAt.getTime()).splice(mostSiblings)
  }
  return siblings
}

function positionOf({ branch, aligned, ids }: BranchAlignment, prompt: FingerprintedPrompt): PromptPosition {
  const { fit, kept, fresh } = aligned
  const head = fit === 'nowhere' || kept === 0 ? null : ids[kept - 1]!
  if (fit === 'end') return { branch, head, fresh, found: 'end' }
  if (fit === 'nowhere') return { branch, head: null, fresh, found: 'unknown' }
  return {
    branch,
    head,
    fresh,
    found: fresh.length === 0 && prompt.messages.length > 0 ? 'earlier' : 'edited',
  }
}

/** The branch among `home` and its siblings that was written last: the caller may have continued on a
 *  sibling. */
export async function newestBranch(store: RecordStore, home: BranchRef): Promise<BranchRef> {
  const [own, siblings] = await Promise.all([store.getBranch(home), siblingsOf(store, home, home)])
  const { conversationId, name } = siblings.reduce((a, b) => (b.updatedAt > a.updatedAt ? b : a), own)
  return { conversationId, name }
}

/** The key that a call on this branch moves with it, and the branch that has it now, so that lookups and
 *  lists show the same as `ModelRecorder.messages`. A branch without a key follows the active branch. */
export async function keyOfBranch(
  store: RecordStore,
  ref: BranchRef,
): Promise<NonNullable<BeginTurn['moveKey']>> {
  const { key } = await store.getBranch(ref)
  if (key !== null) return { key, from: ref.name }
  return { key, from: (await store.getConversation(ref.conversationId)).activeBranch }
}

/** A tool call at the end of a branch that has no result yet. */
export interface OpenCall {
  readonly head: MessageId
  /** The answer that contains the call. */
  readonly message: Message
  readonly known: readonly Fingerprint[]
  /** The other calls of the same answer without a result. */
  readonly others: readonly string[]
}

/** Finds a tool call at the end of a branch; null if it has a result, or if another message has followed. */
export async function findOpenCall(
  store: RecordStore,
  ref: BranchRef,
  callId: string,
): Promise<OpenCall | null> {
  const { head } = await store.getBranch(ref)
  if (head === null) return null
  const path = await newestTurn(store, head)
  const known = path.map(fingerprintOf)
  const asking = known.findLastIndex(({ calls }) => calls.some(call => call.callId === callId))
  const after = known.slice(asking + 1)
  const given = new Set(after.flatMap(({ results }) => [...results.keys()]))
  if (asking === -1 || after.some(({ role }) => role !== 'tool_result') || given.has(`call ${callId}`))
    return null
  const calls = known[asking]!.calls.map(call => call.callId)
  const others = calls.filter(id => id !== callId && !given.has(`call ${id}`))
  return { head, message: path[asking]!, known, others }
}

/** The messages of the newest turn, and some before it if it is short. */
async function newestTurn(store: RecordStore, head: MessageId): Promise<readonly Message[]> {
  for (let length = 64; ; length *= 8) {
    const { messages, turnStart } = await store.tail(head, { messages: length })
    if (turnStart === null) return messages
  }
}
