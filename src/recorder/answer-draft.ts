import { messageOfDraft } from '../core/draft.ts'
import type { NewMessage, NonEmpty } from '../core/message.ts'
import type { DraftPiece, TurnEnd } from '../core/turn.ts'

/** What has arrived of one answer, and how much of it is stored. */
export interface AnswerDraft {
  add(piece: Pick<DraftPiece, 'type' | 'text'>): void
  /** What is not known to be stored, or null. Asking for it fixes its numbers and words: what may have been
   *  stored under a number must be the same when it is tried again. */
  unstored(): NonEmpty<DraftPiece> | null
  /** Everything up to this piece is stored. */
  stored(last: DraftPiece): void
  /** Whether something is not known to be stored. */
  readonly waits: boolean
  /** Characters that are not known to be stored. */
  readonly characters: number
  /** All that arrived as a message, as the store would make it at the end of the turn; null if nothing did. */
  message(status: TurnEnd['status']): NewMessage | null
  /** Forgets what has arrived and what still may: the answer came whole, or there is no room for it. */
  drop(): void
}

export function answerDraft(): AnswerDraft {
  /** Pieces by number; the last one grows until it is fixed. */
  let pieces: DraftPiece[] = []
  let fixed = 0
  let done = 0
  let characters = 0
  let dropped = false

  return {
    add({ type, text }) {
      if (dropped || text === '') return
      characters += text.length
      const n = pieces.length - 1
      const open = n >= fixed ? pieces[n] : undefined
      if (open?.type === type) pieces[n] = { n, type, text: open.text + text }
      else pieces.push({ n: n + 1, type, text })
    },
    unstored() {
      fixed = pieces.length
      const rest = pieces.slice(done)
      return rest.length > 0 ? (rest as unknown as NonEmpty<DraftPiece>) : null
    },
    stored(last) {
      for (; done <= last.n && done < pieces.length; done++) characters -= pieces[done]!.text.length
    },
    get waits() {
      return done < pieces.length
    },
    get characters() {
      return characters
    },
    message: status => messageOfDraft(pieces, status),
    drop() {
      dropped = true
      pieces = []
      fixed = done = characters = 0
    },
  }
}
