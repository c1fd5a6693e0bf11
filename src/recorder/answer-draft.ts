import { messageOfDraft } from '../core/draft.ts'
import type { NewMessage } from '../core/message.ts'
import type { DraftPiece, TurnEnd } from '../core/turn.ts'

/** The pieces of one answer that have arrived, and how many of them are stored. */
export interface AnswerDraft {
  add(piece: Pick<DraftPiece, 'type' | 'text'>): void
  /** The pieces that are not known to be stored, or null. The call fixes their numbers and texts: a piece
   *  that may have been stored must be the same in a retry. */
  unstored(): readonly DraftPiece[] | null
  /** Everything up to this piece is stored. */
  stored(last: DraftPiece): void
  /** Whether there are pieces that are not known to be stored. */
  readonly isWaiting: boolean
  /** The characters of those pieces. */
  readonly characters: number
  /** All pieces as one message, as the store makes it at the end of a turn; null without pieces. */
  message(status: TurnEnd['status']): NewMessage | null
  /** Drops all pieces, also later ones: the whole answer has arrived, or there is no space for it. */
  drop(): void
}

export function createAnswerDraft(): AnswerDraft {
  /** By number. The last piece grows until it is fixed. */
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
      return rest.length > 0 ? rest : null
    },
    stored(last) {
      for (; done <= last.n && done < pieces.length; done++) characters -= pieces[done]!.text.length
    },
    get isWaiting() {
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
