import type { Window } from '../../context/fit/window.ts'
import { tailBudgetOf } from '../../context/read-context.ts'
import { type ContextReader, firstSummaries } from '../../context/summary/newest-summary.ts'
import type { BranchRef } from '../../core/branch.ts'
import type { BranchWithTail, TailFinder } from '../../core/branch-with-tail.ts'
import type { MessageId } from '../../core/ids.ts'
import type { Message } from '../../core/message.ts'
import type { FoundOrCreated } from '../../core/ports.ts'
import { type Tail, type TailBudget, tailWith } from '../../core/tail.ts'

/** The end of a branch, as it was read together with the branch: over a network, that saves two round trips
 *  of a turn. */
export interface KnownEnd extends Pick<BranchWithTail, 'tail' | 'summaries'> {
  /** What a context of the window reads first. */
  readonly budget: Required<TailBudget>
  readonly head: MessageId | null
}

/** A branch with as much of its path as a window needs, and one message less: the question follows. */
export async function findWithEnd(
  finder: TailFinder,
  wanted: string | BranchRef,
  window: Window,
): Promise<(Pick<BranchWithTail, 'conversation' | 'branch'> & { readonly end: KnownEnd }) | null> {
  const budget = tailBudgetOf(window)
  const found = await finder.findWithTail(
    wanted,
    { ...budget, messages: Math.max(1, budget.messages - 1) },
    { blobs: 'preview', summaries: firstSummaries },
  )
  if (found === null) return null
  const { conversation, branch, tail, summaries } = found
  return { conversation, branch, end: { budget, head: branch.head, tail, summaries } }
}

/** The end of a new conversation. Null if the conversation was found after all: its end is not known. */
export function endOfNew({ created }: FoundOrCreated, window: Window): KnownEnd | null {
  if (!created) return null
  const tail = { messages: [], turnStart: null, older: 0, olderTokens: 0 }
  return { budget: tailBudgetOf(window), head: null, tail, summaries: [] }
}

/** The end of the path after another message, which begins a turn. Null if it has to be read. */
export function endWith(end: KnownEnd, added: Message): KnownEnd | null {
  if (end.tail.turnStart !== null) return null
  return { ...end, head: added.id, tail: tailWith(end.tail, added, end.budget) }
}

/** A reader that has read the end of a path before, and reads everything else from the store. */
export function knowingEnd(store: ContextReader, end: KnownEnd): ContextReader {
  const { budget, head, tail, summaries } = end
  return {
    getMessages: (ids, options) => store.getMessages(ids, options),
    async tail(id, wanted, options): Promise<Tail> {
      const isKnown = id === head && wanted.tokens === budget.tokens && wanted.messages === budget.messages
      return isKnown ? tail : store.tail(id, wanted, options)
    },
    async listSummaries(id, page = {}) {
      const { limit = Number.POSITIVE_INFINITY, order, after } = page
      const isKnown =
        order === 'descending' &&
        after === undefined &&
        (limit <= firstSummaries || summaries.length < firstSummaries)
      if (!isKnown) return store.listSummaries(id, page)
      return { items: summaries.slice(0, limit), next: null, skipped: [] }
    },
  }
}
