import type { Logger } from 'pino'
import { type ErrorCode, ModelError, SkeinError } from '../../core/errors.ts'
import { HttpError } from './http-error.ts'
import { SlowReaderError } from './stream.ts'

/** Where the service writes its log. */
type ServiceLog = Pick<Logger, 'info' | 'warn' | 'error'>

/** What the log says of a request. It has no content. */
export interface RequestEntry {
  readonly request_id: string
  readonly method: string
  readonly route: string
  readonly status: number
  readonly tenant: string | undefined
  readonly token: string | undefined
  readonly code: string | undefined
  readonly ms: number
}

/** What the log says of a turn that has failed. It has no content. */
export interface TurnEntry {
  readonly request_id: string
  readonly tenant: string
  readonly conversation: string
}

/** Failures that a request, a model or a setting caused: the store works. */
const warnings: ReadonlySet<ErrorCode> = new Set(['missing_key', 'model_failed', 'context_length'])

/** Failures whose place in the code helps to find the cause. */
const withPlace: ReadonlySet<ErrorCode> = new Set(['corrupt', 'misconfigured'])

/** Logs a request: at `error` if the service failed, at `warn` if a model or its key did. */
export function logRequest(log: ServiceLog, entry: RequestEntry, error: unknown, isCutOff: boolean): void {
  // The client has gone: nothing failed here.
  if (isCutOff) log.info(entry, 'request cut off')
  else if (entry.status < 500 || entry.code === 'shutting_down') log.info(entry, 'request')
  else logFailure(log, entry, error, 'request failed')
}

/** Logs a body that broke off: its response had a status already. */
export function logCutOff(log: ServiceLog, entry: RequestEntry, error: unknown): void {
  if (error instanceof SlowReaderError) log.info(entry, error.message)
  else logFailure(log, entry, error, 'response broke off')
}

/** Logs a turn that has failed, also if its request was answered long ago. */
export function logFailedTurn(log: ServiceLog, entry: TurnEntry, error: unknown): void {
  const code = error instanceof SkeinError ? error.code : undefined
  const {
    model,
    kind,
    status: model_status,
  } = error instanceof ModelError ? error : ({} as Partial<ModelError>)
  logFailure(log, { ...entry, code, model, kind, model_status }, error, 'turn failed')
}

function logFailure(log: ServiceLog, entry: object, error: unknown, event: string): void {
  if (error instanceof HttpError || (error instanceof SkeinError && warnings.has(error.code)))
    log.warn(entry, event)
  else log.error({ ...entry, error: errorFacts(error) }, event)
}

/** What the log says of a failure: no message, because it may quote content, and no stack of an error that
 *  the code explains. */
export function errorFacts(error: unknown): object | undefined {
  if (!(error instanceof Error)) return undefined
  const { name } = error
  if (error instanceof SkeinError && !withPlace.has(error.code)) return { name, code: error.code }
  const code = 'code' in error ? error.code : undefined
  const at = error.stack?.split('\n').filter(line => /^\s+at /.test(line))
  return { name, code, at: at?.slice(0, 8).map(line => line.trim()) }
}
