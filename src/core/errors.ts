import type { ConversationId, MessageId, NotFoundKind } from './ids.ts'
import type { ModelErrorKind } from './model-error-kind.ts'

/** The codes of all errors. Programs read `code` and the fields; `message` is for people. */
export type ErrorCode =
  | 'not_found'
  | 'conflict'
  | 'precondition_failed'
  | 'key_reused'
  | 'busy'
  | 'invalid'
  | 'ambiguous_id'
  | 'storage_full'
  | 'read_only'
  | 'corrupt'
  | 'schema_too_new'
  | 'outcome_unknown'
  | 'unavailable'
  | 'misconfigured'
  | 'expired'
  | 'model_failed'
  | 'context_length'
  | 'missing_key'
  | 'owned'

/** The cause of an error, and the next step. */
interface ErrorDetails extends ErrorOptions {
  readonly hint?: string | undefined
}

/** The base class of every error that Skein throws on purpose.
 *
 * @example
 * ```ts
 * import { messageId, openStore, SkeinError } from 'skein'
 *
 * await using store = await openStore(':memory:')
 * try {
 *   await store.getMessages([messageId('a'.repeat(32))])
 * } catch (error) {
 *   if (error instanceof SkeinError) console.log(error.code) // not_found
 * }
 * ```
 */
export abstract class SkeinError extends Error {
  /** Identifies the class of the error, also across processes and versions. */
  abstract readonly code: ErrorCode
  /** The next step for a person, as a sentence. Null if there is nothing to advise. */
  readonly hint: string | null

  constructor(message: string, options: ErrorDetails = {}) {
    super(printable(message), options)
    this.name = new.target.name
    this.hint = options.hint === undefined ? null : printable(options.hint)
  }
}

/** There is nothing of that kind with that id. `trashed` is true if it is in the trash and can be
 *  restored. */
export class NotFoundError extends SkeinError {
  /** Always `not_found`. */
  readonly code = 'not_found'
  /** What was looked for. */
  readonly kind: NotFoundKind
  /** The id, name or key that was given. */
  readonly id: string
  /** True if the conversation is in the trash and can be restored. */
  readonly trashed: boolean

  constructor(kind: NotFoundError['kind'], id: string, options: { trashed?: boolean } = {}) {
    super(
      options.trashed
        ? `${kind} ${show(id)} is in the trash: restore it first`
        : `there is no ${kind} ${show(id)}`,
    )
    this.kind = kind
    this.id = id
    this.trashed = options.trashed ?? false
  }
}

/** Another writer moved the branch first. Read the new head and try again, or ask for a sibling branch. */
export class ConflictError extends SkeinError {
  /** Always `conflict`. */
  readonly code = 'conflict'
  /** The name of the branch. */
  readonly branch: string
  /** The head that the caller gave. Null for an empty branch. */
  readonly expected: MessageId | null
  /** The head of the branch now. Null for an empty branch. */
  readonly actual: MessageId | null

  constructor(branch: string, expected: MessageId | null, actual: MessageId | null) {
    super(
      `branch ${show(branch)} has moved: expected head ${expected ?? '(empty)'}, found ${actual ?? '(empty)'}`,
    )
    this.branch = branch
    this.expected = expected
    this.actual = actual
  }
}

/** A unique name is taken: a branch name, a key, or a turn key and step that stored other messages. */
export class KeyReusedError extends SkeinError {
  /** Always `key_reused`. */
  readonly code = 'key_reused'
  /** The name or key that is taken. */
  readonly key: string

  constructor(key: string, message: string, options: ErrorDetails = {}) {
    super(message, options)
    this.key = key
  }
}

/** The process that holds a branch or a range, as stored with an open turn or a claimed summary. */
export interface Holder {
  /** The host name, extended so that clones and containers differ. */
  readonly host: string
  /** Identifies the boot of the host. `unknown` on systems that have no boot id. */
  readonly boot: string
  /** The process id. */
  readonly pid: number
  /** When the process started, as the system reports it. Tells it from a later process with the same id. */
  readonly startedAt: number
}

/** Another process holds the branch (an open turn) or the range (a claimed summary). */
export class BusyError extends SkeinError {
  /** Always `busy`. */
  readonly code = 'busy'
  /** What is held, for people: `branch "main"`. */
  readonly what: string
  /** The process that holds it, if that is known. */
  readonly holder: Holder | null
  /** When the lease ends unless the holder renews it. Null if there is no lease. */
  readonly leaseUntil: Date | null

  constructor(what: string, holder: Holder | null, leaseUntil: Date | null, options: ErrorDetails = {}) {
    const who = holder ? ` by process ${holder.pid} on ${holder.host}` : ''
    const until = leaseUntil ? ` until ${leaseUntil.toISOString()}` : ''
    super(`${what} is held${who}${until}`, options)
    this.what = what
    this.holder = holder
    this.leaseUntil = leaseUntil
  }
}

/** The input is invalid. `field` names the argument. Nothing was written. */
export class InvalidError extends SkeinError {
  /** Always `invalid`. */
  readonly code = 'invalid'
  /** The path of the argument: `messages[1].content`. */
  readonly field: string
  /** Offset into the text, if the field is a query. */
  readonly position: number | null

  constructor(field: string, problem: string, position: number | null = null, hint?: string) {
    super(`${shorten(field, 200)}: ${problem}`, { hint })
    this.field = field
    this.position = position
  }
}

/** An id that an ambiguous prefix matches. */
export interface IdCandidate {
  /** Whether the id names a conversation or a message. */
  readonly kind: 'conversation' | 'message'
  /** The whole id. */
  readonly id: ConversationId | MessageId
}

/** A prefix matches more than one id. `candidates` holds up to ten of them, of both kinds. */
export class AmbiguousIdError extends SkeinError {
  /** Always `ambiguous_id`. */
  readonly code = 'ambiguous_id'
  /** The prefix that was given. */
  readonly prefix: string
  /** Ids that begin with the prefix. */
  readonly candidates: readonly IdCandidate[]

  constructor(prefix: string, candidates: readonly IdCandidate[]) {
    super(
      `${show(prefix)} fits ${candidates.length} ids: ${candidates.map(c => `${c.kind} ${c.id}`).join(', ')}`,
    )
    this.prefix = prefix
    this.candidates = candidates
  }
}

/** The disk, or the database's quota, is full. Nothing was written. Reading still works. */
export class StorageFullError extends SkeinError {
  /** Always `storage_full`. */
  readonly code = 'storage_full'
}

/** The store can be read but not written. */
export class ReadOnlyError extends SkeinError {
  /** Always `read_only`. */
  readonly code = 'read_only'
}

/** Stored data is inconsistent, or does not match its hash. */
export class CorruptError extends SkeinError {
  /** Always `corrupt`. */
  readonly code = 'corrupt'
}

/** A newer version of Skein wrote this store. Nothing was written. Upgrade Skein to open it. */
export class SchemaTooNewError extends SkeinError {
  /** Always `schema_too_new`. */
  readonly code = 'schema_too_new'
  /** The schema version of the store. */
  readonly found: number
  /** The newest version that this program knows. */
  readonly known: number

  constructor(found: number, known: number) {
    super(
      `the store has schema version ${found}, this version of skein knows ${known}: upgrade skein to open it`,
    )
    this.found = found
    this.known = known
  }
}

/** The connection broke after a commit was sent, or the disk did not confirm a commit, so the outcome is
 *  unknown. Retry with the same turn key. */
export class OutcomeUnknownError extends SkeinError {
  /** Always `outcome_unknown`. */
  readonly code = 'outcome_unknown'
}

/** The store cannot be reached, or stayed locked for too long. A retry may succeed. */
export class UnavailableError extends SkeinError {
  /** Always `unavailable`. */
  readonly code = 'unavailable'
  /** The process that holds the lock of an SQLite file, if it is known. */
  readonly pid: number | null

  constructor(message: string, options: ErrorDetails & { readonly pid?: number | null } = {}) {
    super(message, options)
    this.pid = options.pid ?? null
  }
}

/** The installation or the database has to be changed before the store works: a retry alone cannot succeed.
 *  `hint` says what to change. */
export class MisconfiguredError extends SkeinError {
  /** Always `misconfigured`. */
  readonly code = 'misconfigured'
  /** The part of the installation that prevents a store from working. `node`: the version of Node is too old.
   *  `package`: an optional package is missing. `path`: the file cannot be opened or created there. `login`:
   *  the server refused the role or its password. `database`: the database does not exist. `permission`: the
   *  role may not do this. `pooler`: a connection pooler loses prepared statements. `tables`: tables with
   *  Skein's names have other columns. */
  readonly part: 'node' | 'package' | 'path' | 'login' | 'database' | 'permission' | 'pooler' | 'tables'

  constructor(part: MisconfiguredError['part'], message: string, options: ErrorDetails = {}) {
    super(message, options)
    this.part = part
  }
}

/** The lease expired and another process took over: the caller may no longer write this turn or summary. */
export class ExpiredError extends SkeinError {
  /** Always `expired`. */
  readonly code = 'expired'
}

/** The provider failed or could not be reached. `retryable` says whether the same call may succeed
 *  later. */
export class ModelError extends SkeinError {
  /** Always `model_failed`. */
  readonly code = 'model_failed'
  /** The id of the model. */
  readonly model: string
  /** What went wrong. */
  readonly kind: ModelErrorKind
  /** The HTTP status, if there was one. */
  readonly status: number | null
  /** True if the same call may succeed later. */
  readonly retryable: boolean
  /** The wait that the provider asked for. */
  readonly retryAfterMs: number | null
  /** How often the call was attempted. */
  readonly attempts: number

  constructor(
    model: string,
    problem: string,
    facts: {
      kind?: ModelErrorKind
      hint?: string | null
      status?: number
      retryable?: boolean
      retryAfterMs?: number
      attempts?: number
      cause?: unknown
    } = {},
  ) {
    super(`${model}: ${problem}`, {
      hint: facts.hint ?? undefined,
      ...(facts.cause === undefined ? {} : { cause: facts.cause }),
    })
    this.model = model
    this.kind = facts.kind ?? 'other'
    this.status = facts.status ?? null
    this.retryable = facts.retryable ?? false
    this.retryAfterMs = facts.retryAfterMs ?? null
    this.attempts = facts.attempts ?? 1
  }
}

/** The request does not fit into the model's window, as the provider reported or as was known before. */
export class ContextLengthError extends SkeinError {
  /** Always `context_length`. */
  readonly code = 'context_length'
  /** The window in tokens, if known. */
  readonly limit: number | null
  /** The tokens that were, or would have been, sent. */
  readonly needed: number | null

  constructor(problem: string, facts: { limit?: number; needed?: number; cause?: unknown } = {}) {
    super(problem, facts.cause === undefined ? undefined : { cause: facts.cause })
    this.limit = facts.limit ?? null
    this.needed = facts.needed ?? null
  }
}

/** A provider's key is not set. `variable` is the environment variable to set. */
export class MissingKeyError extends SkeinError {
  /** Always `missing_key`. */
  readonly code = 'missing_key'
  /** The provider, such as `anthropic`. */
  readonly provider: string
  /** The environment variable to set, such as `ANTHROPIC_API_KEY`. */
  readonly variable: string

  constructor(provider: string, variable: string) {
    super(`there is no key for ${provider}: set ${variable}`)
    this.provider = provider
    this.variable = variable
  }
}

/** The conversation belongs to another program, which alone writes it. Nothing was written. Continue it in
 *  that program, or copy it with `copyAsNewConversation` (`skein/maintenance`) and continue the copy. */
export class OwnedError extends SkeinError {
  /** Always `owned`. */
  readonly code = 'owned'
  /** The conversation that was not written. */
  readonly conversationId: ConversationId
  /** The program that writes it, for example `claude-code`. */
  readonly owner: string

  constructor(conversationId: ConversationId, owner: string) {
    super(
      `conversation ${conversationId} belongs to ${show(owner)}, which alone writes it: ` +
        'continue it there, or continue a copy (copyAsNewConversation, skein fork)',
    )
    this.conversationId = conversationId
    this.owner = owner
  }
}

/** Throws OwnedError if the conversation belongs to another program. */
export function checkNotOwned(conversation: {
  readonly id: ConversationId
  readonly owner: string | null
}): void {
  if (conversation.owner !== null) throw new OwnedError(conversation.id, conversation.owner)
}

/** Quotes and shortens a caller's text, so that it cannot be mistaken for the message around it. */
function show(text: string): string {
  return JSON.stringify(shorten(text, 80))
}

function shorten(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text
}

/** A text, because V8 would look up the properties of a literal at every start. */
const controls = '[\\p{Cc}\\p{Cs}\\p{Zl}\\p{Zp}\\p{Bidi_Control}]'

/** One line that cannot control a terminal, whatever a caller, a file or an engine put into it. Characters
 *  that would move the cursor, break the line or reverse the writing direction are shown as numbers. */
function printable(message: string): string {
  return message.replace(
    new RegExp(controls, 'gu'),
    character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
