import { errorText } from '../../core/error-text.ts'
import {
  BusyError,
  ContextLengthError,
  MissingKeyError,
  ModelError,
  SkeinError,
  UnavailableError,
} from '../../core/errors.ts'
import { withoutSecrets } from '../../system/secrets.ts'

/** What of a turn is stored when it fails. */
export type KeptPart = 'nothing' | 'words' | 'part' | 'waiting'

const keptText: Readonly<Record<KeptPart, string>> = {
  nothing: 'Nothing was stored: send it again later.',
  words: 'Your message is stored: send another one to continue.',
  part: 'Your message and the answer so far are stored.',
  waiting: 'Your message waits in memory and is stored when the store is back.',
}

const mostText = 300

/** One line about a failure and about what was kept, without a key, a token or a path of the machine. */
export function failureLine(error: unknown, kept: KeptPart, secrets: readonly string[]): string {
  return `⚠ ${subjectOf(error)} ${keptText[kept]}`.replaceAll(/\s+/g, ' ')

  function subjectOf(failed: unknown): string {
    if (failed instanceof ModelError || failed instanceof ContextLengthError)
      return `The model failed: ${clean(errorText(failed))}.`
    if (failed instanceof MissingKeyError) return 'The model cannot be used: its key is not set.'
    if (failed instanceof BusyError) return 'Another program is writing to this conversation.'
    if (failed instanceof UnavailableError) return 'The store cannot be reached.'
    // The text of other errors of the store may name files and addresses.
    if (failed instanceof SkeinError) return `The store failed (${failed.code}).`
    return 'Something failed in the bot.'
  }

  function clean(text: string): string {
    return withoutSecrets(text, secrets).replaceAll(/\s+/g, ' ').replace(/\.$/, '').slice(0, mostText)
  }
}
