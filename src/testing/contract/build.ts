import { strict as assert } from 'node:assert'
import type { BranchRef } from '../../core/branch.ts'
import type { NewConversation } from '../../core/conversation.ts'
import { type ErrorCode, type Holder, SkeinError } from '../../core/errors.ts'
import type { ConversationId, MessageId } from '../../core/ids.ts'
import { type Message, type NewMessage, type RoleInput, textOf } from '../../core/message.ts'
import { collectPages } from '../../core/pages.ts'
import { pathOf } from '../../core/path.ts'
import type { Appended, BranchInConversation, Store } from '../../core/ports.ts'
import type { SweepReceipt } from '../../core/removal.ts'
import type { CaseContext, ContractCase } from './contract-case.ts'

/** A valid conversation id and a valid message id that no store has. */
export const noConversation = 'ffffffff-ffff-4fff-bfff-ffffffffffff' as ConversationId
export const noMessage = 'z'.repeat(32) as MessageId

export function say(text: string, role: RoleInput = 'user'): NewMessage {
  return { role, content: text }
}

/** A process that may hold a turn. Another pid is another process. */
export function holder(pid = 1): Holder {
  return { host: 'contract', boot: 'boot-1', pid, startedAt: 1_000 }
}

/** Asserts that a promise rejects with a SkeinError of this code, and returns the error. */
export async function rejects<E extends SkeinError = SkeinError>(
  promise: Promise<unknown>,
  code: E['code'] & ErrorCode,
): Promise<E> {
  try {
    await promise
  } catch (error) {
    assert.ok(error instanceof SkeinError, `expected a SkeinError, got ${error}`)
    assert.equal(error.code, code, error.message)
    return error as E
  }
  return assert.fail(`expected an error with code ${code}, but it went through`)
}

/** Appends texts at the current head of the branch, alternating user and assistant, beginning with user. */
export async function appendTexts(
  store: Store,
  at: BranchRef | BranchInConversation,
  ...texts: readonly string[]
): Promise<Appended> {
  const ref = 'branch' in at ? at.branch : at
  const { head } = await store.getBranch(ref)
  const messages = texts.map((text, i) => say(text, i % 2 === 0 ? 'user' : 'assistant'))
  return store.append(ref, head, messages)
}

/** A conversation with three messages on `main`: one, two, three. */
export async function startConversation(
  store: Store,
  conversation?: NewConversation,
): Promise<BranchInConversation & { readonly ids: readonly [MessageId, MessageId, MessageId] }> {
  const { conversation: made, branch } = await store.create(conversation)
  const { ids } = await appendTexts(store, branch, 'one', 'two', 'three')
  return {
    conversation: await store.getConversation(made.id),
    branch: await store.getBranch(branch),
    ids: ids as unknown as readonly [MessageId, MessageId, MessageId],
  }
}

/** The texts of messages, in order. */
export function texts(messages: readonly Message[]): string[] {
  return messages.map(textOf)
}

/** The texts on the path of a branch. */
export async function said(store: Store, ref: BranchRef): Promise<string[]> {
  const { head } = await store.getBranch(ref)
  return head === null ? [] : texts(await pathOf(store, head))
}

/** Stores a tree given as child → parent, in the given order. The text of each message is its name. */
export async function grow<Name extends string>(
  store: Store,
  id: ConversationId,
  shape: Readonly<Record<Name, NoInfer<Name> | null>>,
): Promise<Record<Name, MessageId>> {
  const names = Object.keys(shape) as Name[]
  const items = names.map(name => {
    const parent = shape[name]
    return { message: say(name), parent: parent === null ? null : { item: names.indexOf(parent) } }
  })
  const ids = await store.save(id, items)
  return Object.fromEntries(names.map((name, i) => [name, ids[i]])) as Record<Name, MessageId>
}

/** Creates the cases of an area. */
export function casesOf(area: string) {
  return (name: string, run: ContractCase['run'], needs?: ContractCase['needs']): ContractCase =>
    needs === undefined ? { area, name, run } : { area, name, needs, run }
}

/** Eight writers on four handles. Two writers in one round would not detect a missing lock. */
export async function writers(world: CaseContext): Promise<readonly Store[]> {
  const handles = [world.store, await world.second(), await world.second(), await world.second()]
  return [...handles, ...handles]
}

/** Two branches that were written alternately: main ends at a3, side at b3, and both start at the root. */
export async function interleave(store: Store) {
  const { conversation, branch } = await store.create()
  const ids = await grow(store, conversation.id, {
    root: null,
    a1: 'root',
    b1: 'root',
    a2: 'a1',
    b2: 'b1',
    a3: 'a2',
    b3: 'b2',
  })
  const main = await store.moveBranch(branch, null, ids.a3)
  const side = await store.createBranch(conversation.id, ids.b3, { name: 'side' })
  return { id: conversation.id, ids, main, side }
}

/** Stores a summary of each range, with one holder. */
export async function summarise(
  store: Store,
  id: ConversationId,
  ...ranges: readonly (readonly [first: MessageId, last: MessageId])[]
): Promise<void> {
  for (const [first, last] of ranges) {
    await store.claimSummary(id, { first, last }, holder())
    await store.putSummary(id, { first, last, tokens: 1, text: 'short', holder: holder() })
  }
}

/** Asserts that exactly these ranges have a summary. */
export async function assertSummarised(
  store: Store,
  id: ConversationId,
  ...ranges: readonly (readonly [first: MessageId, last: MessageId])[]
): Promise<void> {
  const stored = (await collectPages(page => store.listSummaries(id, page))).map(
    ({ first, last }) => `${first}..${last}`,
  )
  assert.deepEqual(stored.sort(), ranges.map(range => range.join('..')).sort())
}

/** The receipt of a sweep that had nothing to do. */
export const idleSweep: SweepReceipt = {
  dryRun: false,
  skipped: false,
  trashed: [],
  purged: [],
  next: null,
  clockJumped: null,
  remains: [],
}
