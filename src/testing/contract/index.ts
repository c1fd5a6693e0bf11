import { activityCases } from './activity.ts'
import { agentLinkCases } from './agent-links.ts'
import { appendCases } from './append.ts'
import { approvalCases } from './approvals.ts'
import { blobCases } from './blobs.ts'
import { branchCases } from './branches.ts'
import { branchWithTailCases } from './branches-with-tails.ts'
import { conditionalWriteCases } from './conditional-writes.ts'
import { contentCases } from './content.ts'
import type { ContractCase } from './contract-case.ts'
import { conversationCases } from './conversations.ts'
import { deletingCases } from './deleting.ts'
import { deletingEffectsCases } from './deleting-effects.ts'
import { draftCases } from './drafts.ts'
import { erasingCases } from './erasing.ts'
import { eventsCases } from './events.ts'
import { followingCases } from './following.ts'
import { followingTaskCases } from './following-tasks.ts'
import { hostileCases } from './hostile.ts'
import { keyCases } from './keys.ts'
import { largeBlobCases } from './large-blobs.ts'
import { largeMessageCases } from './large-messages.ts'
import { listFilterCases } from './list-filters.ts'
import { listCases } from './lists.ts'
import { measuringCases } from './measuring.ts'
import { messageListCases } from './message-lists.ts'
import { overviewCases } from './overviews.ts'
import { pageCases } from './pages.ts'
import { pathSectionCases } from './path-sections.ts'
import { readCases } from './reads.ts'
import { transferCases } from './records.ts'
import { mergingCases } from './records-merging.ts'
import { refusalCases } from './refusals.ts'
import { removingCases } from './removing.ts'
import { reopenCases } from './reopen.ts'
import { replayCases } from './replay.ts'
import { resetCases } from './reset.ts'
import { resolveCases } from './resolve.ts'
import { saveCases } from './save.ts'
import { searchCases } from './search.ts'
import { searchChangesCases } from './search-changes.ts'
import { searchFilterCases } from './search-filters.ts'
import { searchUnindexedCases } from './search-unindexed.ts'
import { siblingCases } from './siblings.ts'
import { structureCases } from './structure.ts'
import { summariesCases } from './summaries.ts'
import { sweepCases } from './sweep.ts'
import { sweepOnceCases } from './sweep-once.ts'
import { sweepPageCases } from './sweep-pages.ts'
import { tailCases } from './tails.ts'
import { taskClaimCases } from './task-claims.ts'
import { taskQueueCases } from './task-queue.ts'
import { taskRecordCases } from './task-records.ts'
import { taskCases } from './tasks.ts'
import { tokenCases } from './tokens.ts'
import { trashCases } from './trash.ts'
import { turnCases } from './turns.ts'
import { verifyingCases } from './verifying.ts'

/** Everything that a driver promises, as data. Run each case with `runCase` under any test runner. */
export const contract: readonly ContractCase[] = [
  ...activityCases,
  ...agentLinkCases,
  ...appendCases,
  ...largeMessageCases,
  ...approvalCases,
  ...blobCases,
  ...largeBlobCases,
  ...branchCases,
  ...branchWithTailCases,
  ...conditionalWriteCases,
  ...contentCases,
  ...conversationCases,
  ...deletingCases,
  ...deletingEffectsCases,
  ...draftCases,
  ...erasingCases,
  ...eventsCases,
  ...followingCases,
  ...followingTaskCases,
  ...hostileCases,
  ...keyCases,
  ...listFilterCases,
  ...listCases,
  ...measuringCases,
  ...messageListCases,
  ...overviewCases,
  ...pageCases,
  ...pathSectionCases,
  ...readCases,
  ...refusalCases,
  ...removingCases,
  ...replayCases,
  ...resetCases,
  ...resolveCases,
  ...saveCases,
  ...searchChangesCases,
  ...searchFilterCases,
  ...searchUnindexedCases,
  ...searchCases,
  ...siblingCases,
  ...structureCases,
  ...summariesCases,
  ...sweepCases,
  ...sweepOnceCases,
  ...sweepPageCases,
  ...tailCases,
  ...taskCases,
  ...taskClaimCases,
  ...taskQueueCases,
  ...taskRecordCases,
  ...tokenCases,
  ...transferCases,
  ...mergingCases,
  ...trashCases,
  ...turnCases,
  ...verifyingCases,
  ...reopenCases,
]
