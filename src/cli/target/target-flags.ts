import { type Given, hasOption, textOption } from '../command-line/command.ts'
import { UsageError } from '../command-line/usage-error.ts'

/** Which conversation a person asks for by flags. */
export interface Wishes {
  /** The word after `--continue`, '' if there was none; null without the flag. */
  readonly goOn: string | null
  readonly isNew: boolean
  readonly incognito: boolean
  /** The name after `--session`. */
  readonly name: string | null
  readonly resume: string | null
  readonly force: boolean
}

/** Pairs of flags of which only one can be meant. */
const contradictions: readonly (readonly [string, string])[] = [
  ['new', 'continue'],
  ['new', 'resume'],
  ['continue', 'resume'],
  ['continue', 'session'],
  ['resume', 'session'],
  ['incognito', 'continue'],
  ['incognito', 'resume'],
  ['incognito', 'session'],
  ['incognito', 'with-context'],
]

/** Reads the flags. Throws UsageError where they contradict each other. */
export function wishesOf(given: Given): Wishes {
  for (const [one, other] of contradictions) {
    if (hasOption(given, one) && hasOption(given, other))
      throw new UsageError(`--${one} and --${other} contradict each other`, 'Drop one.')
  }
  if (hasOption(given, 'with-context') && !hasOption(given, 'new'))
    throw new UsageError('--with-context is for a new conversation', 'Add -n')
  for (const name of ['session', 'resume']) {
    if (textOption(given, name)?.trim() === '') throw new UsageError(`--${name} must not be empty`)
  }
  return {
    goOn: textOption(given, 'continue') ?? null,
    isNew: hasOption(given, 'new'),
    incognito: hasOption(given, 'incognito'),
    name: textOption(given, 'session') ?? null,
    resume: textOption(given, 'resume') ?? null,
    force: hasOption(given, 'force'),
  }
}
