import type { ErrorCode } from '../../core/errors.ts'

/** The exit codes of the command. */
export const exitCode = { ok: 0, failure: 1, usage: 2, notFound: 3, conflict: 4, interrupted: 130 } as const

/** The exit code of every error code. A new error code does not compile without one. */
export const exitCodeOf: Readonly<Record<ErrorCode, number>> = {
  not_found: exitCode.notFound,
  conflict: exitCode.conflict,
  precondition_failed: exitCode.conflict,
  key_reused: exitCode.conflict,
  busy: exitCode.failure,
  invalid: exitCode.usage,
  ambiguous_id: exitCode.usage,
  storage_full: exitCode.failure,
  read_only: exitCode.failure,
  corrupt: exitCode.failure,
  schema_too_new: exitCode.failure,
  outcome_unknown: exitCode.failure,
  unavailable: exitCode.failure,
  misconfigured: exitCode.failure,
  expired: exitCode.conflict,
  model_failed: exitCode.failure,
  context_length: exitCode.failure,
  missing_key: exitCode.failure,
  owned: exitCode.usage,
}
