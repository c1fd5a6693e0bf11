import type { BranchRef } from './branch.ts'
import type { Holder } from './errors.ts'
import type { NewEvent } from './event.ts'
import type { ConversationId } from './ids.ts'
import type { MessageRange, NewSummary, Summary, SummaryClaim } from './summary.ts'
import type { DraftPiece, EndedTurn, Turn, TurnEnd } from './turn.ts'

/** Writes the state of a running turn. */
export interface TurnWriter {
  /** How long a holder keeps a branch without renewing its turn. */
  readonly leaseMs: number
  /** Adds pieces to the unfinished answer, without waiting for the disk, and renews the lease. */
  putDraft(id: ConversationId, turnKey: string, holder: Holder, pieces: readonly DraftPiece[]): Promise<void>
  /** Throws ExpiredError if the holder has lost the turn. */
  renewTurn(id: ConversationId, turnKey: string, holder: Holder): Promise<Turn>
  /** Ends an open turn and frees its branch. Throws ExpiredError if another process holds the turn. */
  endTurn(id: ConversationId, turnKey: string, end: TurnEnd): Promise<EndedTurn>
  /** Reopens the last turn of the branch for the holder, if it was interrupted or failed; otherwise null. Its
   *  next step is `lastStep + 1`. Of several callers, one gets the turn; the others get BusyError. */
  reopenTurn(ref: BranchRef, holder: Holder): Promise<Turn | null>
  /** Adds trace records. A retry adds them twice. */
  addEvents(id: ConversationId, events: readonly NewEvent[]): Promise<void>
  /** Claims the range for 30 seconds, or returns its existing summary. Throws BusyError. */
  claimSummary(id: ConversationId, range: MessageRange, holder: Holder): Promise<SummaryClaim>
  /** Stores the summary of a claimed range. Throws ExpiredError if the claim was lost. */
  putSummary(id: ConversationId, summary: NewSummary): Promise<Summary>
}
