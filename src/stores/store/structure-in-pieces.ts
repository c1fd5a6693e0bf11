import type { ConversationId } from '../../core/ids.ts'
import type { Page, PageOptions } from '../../core/listing.ts'
import type { Stretch } from '../../core/runs.ts'
import type { Engine } from '../engine/engine.ts'
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
