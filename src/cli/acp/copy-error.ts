import { PreconditionFailedError } from '../../core/conditional-writer.ts'
import {
  AmbiguousIdError,
  BusyError,
  ConflictError,
  ContextLengthError,
  CorruptError,
  type ErrorCode,
  ExpiredError,
  InvalidError,
  KeyReusedError,
  MisconfiguredError,
  MissingKeyError,
  ModelError,
  NotFoundError,
  OutcomeUnknownError,
  OwnedError,
  ReadOnlyError,
  SchemaTooNewError,
  type SkeinError,
  StorageFullError,
  UnavailableError,
} from '../../core/errors.ts'
import type { CopiedError } from './thread-calls.ts'

const classes: Record<ErrorCode, { readonly prototype: SkeinError }> = {
  not_found: NotFoundError,
  conflict: ConflictError,
  precondition_failed: PreconditionFailedError,
  key_reused: KeyReusedError,
  busy: BusyError,
  invalid: InvalidError,
  ambiguous_id: AmbiguousIdError,
  storage_full: StorageFullError,
  read_only: ReadOnlyError,
  corrupt: CorruptError,
  schema_too_new: SchemaTooNewError,
  outcome_unknown: OutcomeUnknownError,
  unavailable: UnavailableError,
  misconfigured: MisconfiguredError,
  expired: ExpiredError,
  model_failed: ModelError,
  context_length: ContextLengthError,
  missing_key: MissingKeyError,
  owned: OwnedError,
}

/** An error as data that another thread can read. */
export function copyOfError(error: unknown): CopiedError {
  if (!(error instanceof Error)) return { message: String(error), stack: undefined, fields: {}, cause: null }
  const fields = Object.entries(error).filter(([, value]) => canBeCopied(value))
  const { message, stack, cause } = error
  return {
    message,
    stack,
    fields: Object.fromEntries(fields),
    cause: cause === undefined ? null : copyOfError(cause),
  }
}

/** The error that was copied, with its class if it is one of ours. */
export function errorFromCopy({ message, stack, fields, cause }: CopiedError): Error {
  const error = new Error(message, cause ? { cause: errorFromCopy(cause) } : {})
  const { code } = fields
  if (isErrorCode(code)) Object.setPrototypeOf(error, classes[code].prototype)
  return Object.assign(error, fields, stack !== undefined && { stack })
}

function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === 'string' && Object.hasOwn(classes, code)
}

function canBeCopied(value: unknown): boolean {
  try {
    structuredClone(value)
    return true
  } catch {
    return false
  }
}
