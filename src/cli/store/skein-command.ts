import type { Outputs } from '../output/output.ts'
import { shownLocation } from './store-location.ts'
import type { StoreAccess } from './with-store.ts'

/** What a hint needs to know of the command that prints it. */
export type HintContext = Pick<StoreAccess, 'location'> &
  Pick<Outputs, 'err' | 'json'> & { readonly env: Env }

type Env = Readonly<Record<string, string | undefined>>

/** The command as the user has to type it to reach the same store again: `skein`, or `skein --db notes.db`.
 *  Every hint begins with it. SKEIN_DB and a project's store are found again without the option. */
export function skeinCommand(context: HintContext): string {
  const { typed, isFile } = context.location()
  if (typed === undefined) return 'skein'
  // A URL is printed without its password.
  return `skein --db ${context.err.style.safe(shellWord(isFile ? typed : shownLocation(context)))}`
}

/** A word as a POSIX shell reads it. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./~-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

/** The hint of an error with its commands as the user has to type them: the code that throws an error does
 *  not know the options. `names` are the commands that use the store. `skein ls --help` needs no store. */
export function hintForStore(hint: string, names: ReadonlySet<string>, context: HintContext): string {
  const command = skeinCommand(context)
  return hint.replace(/\bskein (-[a-z]|[a-z]+)\b(?! --help)/g, (found, word: string) =>
    word.startsWith('-') || names.has(word) ? `${command} ${word}` : found,
  )
}
