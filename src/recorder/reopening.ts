import { BusyError } from '../core/errors.ts'
import { isSame } from '../system/holder.ts'
import { findPlace, type Manners, type Opening, openTurnOn, type Standing, standingIn } from './opening.ts'
import { takeOver } from './take-over.ts'

/** Takes up the turn that the branch ends with, if it did not come to its end: whoever resumes holds the branch
 *  before anything is run a second time. Where there is no such turn, a new one will begin with the first step.
 *  `again`: an earlier attempt may have done it, and its outcome is unknown. */
export async function reopen(opening: Opening, manners: Manners, again: boolean): Promise<Standing> {
  const { store, ref, options, source } = opening
  if (options.expectedHead !== undefined) return findPlace(opening, manners)
  for (let tries = 0; ; tries++) {
    try {
      const turn = await store.reopenTurn(ref, source.holder())
      return turn ? await standingIn(opening, turn) : await findPlace(opening, manners)
    } catch (error) {
      if (!(error instanceof BusyError)) throw error
    }
    const open = await openTurnOn(opening)
    if (again && open && isSame(open.holder, source.holder())) return standingIn(opening, open)
    const ended = await takeOver(store, ref.conversationId, ref.name, source)
    // Asked a second time even so: somebody else may just have ended it.
    if (ended.length === 0 && tries > 0) return findPlace(opening, manners)
  }
}
