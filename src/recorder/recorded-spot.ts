import type { Branch, BranchRef } from '../core/branch.ts'
import type { MessageId } from '../core/ids.ts'
import type { NewMessage } from '../core/message.ts'
import { type Aligned, align, type Prompted } from './align.ts'
import { type Face, faceOf } from './align-face.ts'
import type { RecordStore } from './recording.ts'

/** Where what a prompt brings belongs in the store. */
export interface Spot {
  readonly branch: BranchRef
  /** The message that it follows; null for a new root. */
  readonly head: MessageId | null
  /** What is not stored yet. */
  readonly fresh: readonly NewMessage[]
  /** `end`: at the end of the branch. `edited`: beside what the branch has there. `earlier`: another answer to what was
   *  asked before. `unknown`: nothing of the prompt is found. */
  readonly found: 'end' | 'edited' | 'earlier' | 'unknown'
}

/** Siblings that are looked at before another one is begun: a caller may go back to an earlier version of its array. */
const mostSiblings = 16

/** Finds where a prompt goes on: at the end of the branch, of one of its siblings, or beside the branch. `home` is the
 *  one of them that the caller named. Reads as much of
 *  a path as the prompt is long; more only where the prompt is found to differ. */
export async function findSpot(
  store: RecordStore,
  ref: BranchRef,
  home: BranchRef,
  prompt: Prompted,
): Promise<Spot> {
  let best = await layOnBranch(store, await store.getBranch(ref), prompt)
  if (best.aligned.fit === 'end') return spotOf(best, prompt)
  for (const sibling of await siblingsOf(store, ref, home)) {
    const there = await layOnBranch(store, sibling, prompt)
    if (isBetter(there.aligned, best.aligned)) best = there
  }
  return spotOf(best, prompt)
}

/** More in common is better; with as much in common, it is better to go on at an end than to begin another sibling. */
function isBetter(a: Aligned, b: Aligned): boolean {
  if (a.shared !== b.shared) return a.shared > b.shared
  return a.shared > 0 && a.fit === 'end' && b.fit !== 'end'
}

interface OnBranch {
  readonly branch: BranchRef
  readonly aligned: Aligned
  readonly ids: readonly MessageId[]
}

async function layOnBranch(
  store: RecordStore,
  { conversationId, name, head }: Branch,
  prompt: Prompted,
): Promise<OnBranch> {
  const branch = { conversationId, name }
  if (head === null) return { branch, aligned: align(prompt, [], true), ids: [] }
  for (let length = lengthOf(prompt); ; length *= 4) {
    const { messages, older } = await store.tail(head, { messages: length })
    const aligned = align(prompt, messages.map(faceOf), older === 0)
    if (aligned.fit === 'end' || older === 0) return { branch, aligned, ids: messages.map(({ id }) => id) }
  }
}

/** Messages that a prompt may stand for in the store, where each result has one of its own, and some to spare. */
function lengthOf({ messages }: Prompted): number {
  return messages.reduce((sum, { role, blocks }) => sum + (role === 'tool_result' ? blocks.length : 1), 16)
}

/** The branches that went beside this one, or that it went beside, newest first. Those with a key are somebody's own. */
async function siblingsOf(store: RecordStore, ref: BranchRef, home: BranchRef): Promise<readonly Branch[]> {
  const family = familyOf(ref.name)
  return (await store.listBranches(ref.conversationId))
    .filter(({ name }) => name !== ref.name && familyOf(name) === family)
    .filter(({ name, key }) => key === null || name === home.name)
    .sort((a, b) => b.updatedAt.getTime() - a.updatedAt.getTime())
    .slice(0, mostSiblings)
}

/** `main` for `main`, `main-2`, `main-3` … */
function familyOf(name: string): string {
  return name.replace(/-\d{1,9}$/, '')
}

function spotOf({ branch, aligned, ids }: OnBranch, prompt: Prompted): Spot {
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

/** The branch of a family on which something was said last: where its caller went on, if that was beside `home`. */
export async function newestPlace(store: RecordStore, home: BranchRef): Promise<BranchRef> {
  const [own, siblings] = await Promise.all([store.getBranch(home), siblingsOf(store, home, home)])
  const { conversationId, name } = siblings.reduce((a, b) => (b.updatedAt > a.updatedAt ? b : a), own)
  return { conversationId, name }
}

/** A call at the end of a branch that has no result yet. */
export interface OpenCall {
  readonly head: MessageId
  readonly known: readonly Face[]
  /** The other calls of the same answer that have none. */
  readonly others: readonly string[]
}

/** Finds a call at the end of a branch; null if it has a result, or if something else has been said since. */
export async function findCall(store: RecordStore, ref: BranchRef, callId: string): Promise<OpenCall | null> {
  const { head } = await store.getBranch(ref)
  if (head === null) return null
  const { messages } = await store.tail(head, { messages: 64 })
  const known = messages.map(faceOf)
  const asking = known.findLastIndex(({ calls }) => calls.some(call => call.callId === callId))
  const after = known.slice(asking + 1)
  const given = new Set(after.flatMap(({ results }) => [...results.keys()]))
  if (asking === -1 || after.some(({ role }) => role !== 'tool_result') || given.has(`call ${callId}`))
    return null
  const calls = known[asking]!.calls.map(call => call.callId)
  return { head, known, others: calls.filter(id => id !== callId && !given.has(`call ${id}`)) }
}
