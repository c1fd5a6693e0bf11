import type { Logger } from 'pino'
import { type ErrorCode, SkeinError } from '../../core/errors.ts'
import { HttpError } from './http-error.ts'

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

/** Failures that a request or a setting caused: the store works. */
const warnings: ReadonlySet<ErrorCode> = new Set(['missing_key', 'model_failed'])

/** Failures whose place in the code helps to find the cause. */
const withPlace: ReadonlySet<ErrorCode> = new Set(['corrupt', 'misconfigured'])

/** Logs a request: at `error` if the service failed, at `warn` if a model or its key did. */
export function logRequest(
  log: Pick<Logger, 'info' | 'warn' | 'error'>,
  entry: RequestEntry,
  error: unknown,
  isCutOff: boolean,
): void {
  // The client has gone: nothing failed here.
  if (isCutOff) log.info(entry, 'request cut off')
  else if (entry.status < 500 || entry.code === 'shutting_down') log.info(entry, 'request')
  else if (error instanceof HttpError || (error instanceof SkeinError && warnings.has(error.code)))
    log.warn(entry, 'request failed')
  else log.error({ ...entry, error: errorFacts(error) }, 'request failed')
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
