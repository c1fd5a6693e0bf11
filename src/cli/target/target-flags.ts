import { type Args, hasOption, textOption } from '../command-line/command.ts'
import { UsageError } from '../command-line/usage-error.ts'

/** The flags that choose a conversation. */
export interface TargetFlags {
  /** The word after `--continue`, '' without a word; null without the flag. */
  readonly continueWith: string | null
  readonly isNew: boolean
  readonly incognito: boolean
  /** The name after `--session`. */
  readonly name: string | null
  readonly resume: string | null
  readonly force: boolean
}

/** Pairs of flags that exclude each other. */
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

/** Reads the flags. Throws UsageError if they contradict each other. */
export function targetFlags(args: Args): TargetFlags {
  for (const [one, other] of contradictions) {
    if (hasOption(args, one) && hasOption(args, other))
      throw new UsageError(`--${one} and --${other} contradict each other`, 'Drop one.')
  }
  if (hasOption(args, 'with-context') && !hasOption(args, 'new'))
    throw new UsageError('--with-context is for a new conversation', 'Add -n')
  for (const name of ['session', 'resume']) {
    if (textOption(args, name)?.trim() === '') throw new UsageError(`--${name} must not be empty`)
  }
  return {
    continueWith: textOption(args, 'continue') ?? null,
    isNew: hasOption(args, 'new'),
    incognito: hasOption(args, 'incognito'),
    name: textOption(args, 'session') ?? null,
    resume: textOption(args, 'resume') ?? null,
    force: hasOption(args, 'force'),
  }
}
