import type { BranchRef } from '../../core/branch.ts'
import type { BranchWithTail, FindWithTailOptions } from '../../core/branch-with-tail.ts'
import type { BranchInConversation } from '../../core/ports.ts'
import type { TailBudget } from '../../core/tail.ts'
import { first, later, type Program } from '../engine/engine.ts'
import { conversationFromRow, listedBranch, summaryFromRow } from '../engine/row-to-value.ts'
import { emptyTail, limitsOf, tailOfRows } from './read.ts'
import { findByKey } from './resolve.ts'

/** A branch with the newest part of its path, or null. All statements are sent together: those for messages
 *  and summaries find the branch by themselves. */
export function* findWithTail(
  wanted: string | BranchRef,
  budget: TailBudget,
  options: FindWithTailOptions,
  now: number,
): Program<BranchWithTail | null> {
  const named =
    typeof wanted === 'string'
      ? { key: wanted, id: null, name: null }
      : { key: null, id: wanted.conversationId, name: wanted.name }
  const { summaries: limit = 0, ...reading } = options
  const messages = yield* later('tailOfBranch', { ...named, ...limitsOf(budget) })
  const summaries = limit > 0 ? yield* later('summariesOfBranch', { ...named, limit }) : () => []
  const found = typeof wanted === 'string' ? yield* findByKey(wanted, now) : yield* findBranch(wanted)
  if (found === null) return null
  const { head, conversationId } = found.branch
  return {
    ...found,
    tail: head === null ? emptyTail : yield* tailOfRows(head, messages(), budget, reading),
    summaries: summaries().map(row => summaryFromRow(conversationId, row)),
  }
}

function* findBranch({ conversationId, name }: BranchRef): Program<BranchInConversation | null> {
  const row = yield* first('branchInConversation', { id: conversationId, name })
  if (!row || row.branch_created_at === null) return null
  return { conversation: conversationFromRow(row), branch: listedBranch(row, name) }
}
