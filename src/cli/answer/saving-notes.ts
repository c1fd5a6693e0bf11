import { errorText } from '../../core/error-text.ts'
import { SkeinError, UnavailableError } from '../../core/errors.ts'
import type { Trouble } from '../../recorder/recording.ts'
import { unsavedIn } from '../../recorder/waiting-turns.ts'
import { homeFolder } from '../../system/home-folder.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { skeinCommand } from '../store/skein-command.ts'

/** Tells the user that messages wait for the store: once when that begins, and once when all are stored,
 *  however many turns wait meanwhile. */
export interface SavingNotes {
  /** The note about a failure of the storage during a turn; null if there is nothing new to say. */
  during(trouble: Trouble): string | null
  /** The note about messages that an ended turn has not stored yet; null if there are none, or if it was
   *  said. */
  waiting(): string | null
  /** The note that everything is stored; null if nothing had to wait, or if something still does. Only
   *  between turns: the messages of a running turn are unknown. */
  done(): string | null
  /** Messages will never be stored, and the user was told so. */
  lose(): void
}

export function createSavingNotes(store: object | null, context: CommandContext): SavingNotes {
  let isSaid = false
  let isLost = false

  function begin(error: unknown): string | null {
    if (isSaid) return null
    isSaid = true
    return `not saved yet: ${reasonText(error, context)}`
  }

  return {
    during({ kind, error }) {
      switch (kind) {
        case 'degraded':
        case 'unsaved':
          // An error without a next step is not the store's own: it has only been slow so far.
          return error instanceof SkeinError && error.hint === null ? null : begin(error)
        case 'recovered':
          return null
        case 'lost':
          isLost = true
          return `could not be saved: ${errorText(error)}`
        case 'taken_over':
          return 'another process continued this branch; yours is on a new branch'
        default:
          return kind satisfies never
      }
    },
    waiting() {
      const { reason, error } = store ? unsavedIn(store) : { reason: null, error: null }
      return reason === null ? null : begin(error)
    },
    done() {
      if (!isSaid || (store && unsavedIn(store).reason !== null)) return null
      const text = isLost ? 'the rest is saved now' : 'saved now: nothing was lost'
      isSaid = false
      isLost = false
      return text
    },
    lose() {
      isLost = true
    },
  }
}

/** What is wrong with the store, and what helps. The store is retried meanwhile. */
function reasonText(error: unknown, context: CommandContext): string {
  const home = homeFolder(context.env)
  const message = errorText(error).replace(/\.$/, '')
  return `${home ? message.replaceAll(`${home}/`, '~/') : message}. ${nextStep(error, context)}`
}

function nextStep(error: unknown, context: CommandContext): string {
  if (error instanceof UnavailableError && error.pid !== null && error.pid !== process.pid)
    return `It is saved when that process is done. If it hangs: kill ${error.pid}`
  if (!(error instanceof SkeinError)) return 'Skein keeps trying'
  if (error.code === 'storage_full') return 'Free some space, then it is saved'
  if (error.code === 'read_only' && error.hint !== null)
    return `${error.hint}. It is saved as soon as the store can be written`
  return `Skein keeps trying. To check the store: ${skeinCommand(context)} doctor`
}
