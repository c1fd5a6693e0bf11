import type { ErrorCode } from '../../core/errors.ts'

/** What the program ends with. */
export const exit = { ok: 0, failure: 1, usage: 2, notFound: 3, conflict: 4, interrupted: 130 } as const

/** Every way a store, a model or a context can refuse, as an exit code. A new code does not compile without one. */
export const exitOf: Readonly<Record<ErrorCode, number>> = {
  not_found: exit.notFound,
  conflict: exit.conflict,
  key_reused: exit.conflict,
  busy: exit.failure,
  invalid: exit.usage,
  ambiguous_id: exit.usage,
  storage_full: exit.failure,
  read_only: exit.failure,
  corrupt: exit.failure,
  schema_too_new: exit.failure,
  outcome_unknown: exit.failure,
  unavailable: exit.failure,
  expired: exit.conflict,
  model_failed: exit.failure,
  context_length: exit.failure,
  missing_key: exit.failure,
}
