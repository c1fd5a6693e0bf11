import { type Args, hasOption, textOption } from '../command-line/command.ts'
import { UsageError } from '../command-line/usage-error.ts'

/** The flags that choose a conversation. */
export interface TargetFlags {
  /** The value of `--continue`, '' without a value; null without the flag. */
  readonly continueWith: string | null
  /** The words after `--continue` are a prompt if they are not a title: several words in one argument, and no
   *  other argument. */
  readonly mayBePrompt: boolean
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
  const continueWith = textOption(args, 'continue') ?? null
  const isAlone = args.arguments.length === 0 && !args.joined?.has('continue')
  return {
    continueWith,
    mayBePrompt: continueWith !== null && isAlone && /\s/.test(continueWith.trim()),
    isNew: hasOption(args, 'new'),
    incognito: hasOption(args, 'incognito'),
    name: textOption(args, 'session') ?? null,
    resume: textOption(args, 'resume') ?? null,
    force: hasOption(args, 'force'),
  }
}
