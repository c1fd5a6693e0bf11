import type { BranchInfo } from '../../core/branch.ts'
import type { ConversationId } from '../../core/ids.ts'
import type { Page, PageOptions } from '../../core/listing.ts'
import type { Stretch } from '../../core/runs.ts'
import type { Engine } from '../engine/engine.ts'
import { listBranches } from '../programs/branches.ts'
import { defaultLimit } from '../programs/cursor.ts'
import { listStretches } from '../programs/structure.ts'
import { programStepper } from './program-stepper.ts'

// Lists whose largest pages would block the event loop, on an engine whose statements block it.

/** Stretches that one statement reads: in 2 ms, and in 12 ms if each of them is a long run. */
const stretchBatch = 250

/** Lists stretches. A large page is read in pieces, between which the event loop turns; each begins after the
 *  last message of the one before. */
export async function listStretchesInPieces(
  engine: Engine,
  id: ConversationId,
  page: PageOptions,
): Promise<Page<Stretch>> {
  const { limit = defaultLimit } = page
  const isRead = engine.rowsPerStatement === null || limit < stretchBatch
  if (isRead) return engine.read(() => listStretches(id, page), 'one')
  return programStepper(engine)(listStretches(id, page, stretchBatch))
}

/** Branches that one statement reads. It looks at all of them: at 100,000 in about 10 ms. */
const branchBatch = 2_000

/** Runs that are read at once, in about 10 ms. */
const mostRuns = 2_000

/** Lists branches. A large page, and one of branches whose way to the trunk is long, is read in pieces,
 *  between which the event loop turns. If a message is deleted meanwhile, the page is read at once. */
export async function listBranchesInPieces(
  engine: Engine,
  id: ConversationId,
  page: PageOptions,
): Promise<Page<BranchInfo>> {
  const atOnce = () => engine.read(() => listBranches(id, page))
  if (engine.rowsPerStatement === null) return (await atOnce())!
  const { limit = defaultLimit } = page
  const short = { batch: branchBatch, mostRuns, isSnapshot: true }
  const inPieces = { batch: branchBatch, mostRuns: Number.POSITIVE_INFINITY, isSnapshot: false }
  return (
    (limit < branchBatch ? await engine.read(() => listBranches(id, page, short)) : null) ??
    (await programStepper(engine)(listBranches(id, page, inPieces))) ??
    (await atOnce())!
  )
}
