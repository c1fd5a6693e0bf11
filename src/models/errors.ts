import { ContextLengthError, InvalidError, ModelError, SkeinError } from '../core/errors.ts'
import { withoutSecrets } from '../system/secrets.ts'
import { BrokenOff } from './answer.ts'
import { overflowIn } from './context-length.ts'

const longest = 300

/** What is read of an answer: a proxy may send whole pages. */
const mostRead = 10_000

/** An error of a provider, its client or the network as one of ours. It holds the status, what the provider said,
 *  shortened, and when to try again: no request, no headers, no key, and no foreign error that has them. */
export function modelError(
  error: unknown,
  model: string,
  keys: readonly string[] = [],
  now = Date.now,
): SkeinError {
  if (error instanceof SkeinError) return error
  const isBroken = error instanceof BrokenOff
  const found = factsOf(isBroken ? error.said : error)
  const { status, retryAfterMs } = { ...found, retryAfterMs: retryAfter(found, now) }
  const said = withoutSecrets(found.message, keys).trim()
  const overflow = overflowIn(`${found.code ?? ''} ${found.message}`)
  if (overflow !== null && status !== 401 && status !== 403) {
    return new ContextLengthError(`${model}: ${short(said || 'the context is too long')}`, overflow)
  }
  const retryable =
    found.retryable ?? (status === undefined ? isBroken || found.network : isRetryable(status))
  return new ModelError(model, problemOf(found, short(said), isBroken), {
    retryable: retryable && found.code !== 'insufficient_quota',
    ...(status !== undefined && { status }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  })
}

interface Facts {
  readonly message: string
  readonly status: number | undefined
  readonly code: string | undefined
  readonly retryable: boolean | undefined
  readonly headers: Readonly<Record<string, string>>
  /** The body of the answer, as far as it was read. */
  readonly body: string
  /** The connection failed, not the provider. */
  readonly network: boolean
}

function problemOf(facts: Facts, said: string, isBroken: boolean): string {
  if (facts.status !== undefined) return `answered ${facts.status}${said === '' ? '' : `: ${said}`}`
  if (facts.network) return `could not be reached: ${said || 'the connection failed'}`
  if (isBroken) return said === '' ? 'the answer broke off' : `the answer broke off: ${said}`
  return said === '' ? 'failed without a word' : said
}

/** Reads an error by its fields: clients come in several versions, whose classes are not each other's. */
function factsOf(error: unknown): Facts {
  const all = fieldsOf(error)
  const data = fieldsOf(all.data)
  const inner = {
    ...fieldsOf(data.error),
    ...fieldsOf(fieldsOf(data.response).error),
    ...fieldsOf(all.error),
  }
  const status =
    [all.statusCode, all.status, inner.status, inner.code].find(isStatus) ?? statusOf(inner.type ?? all.type)
  const cause = causeOf(error)
  const message = (typeof error === 'string' ? error : String(inner.message ?? all.message ?? '')).slice(
    0,
    mostRead,
  )
  const code = [inner.code, all.code, inner.type, all.type].find(one => typeof one === 'string')
  const network =
    status === undefined &&
    (cause !== undefined || /^(terminated|fetch failed)$|cannot connect/i.test(message))
  return {
    message: network && cause !== undefined && !message.includes(cause) ? `${message} (${cause})` : message,
    status,
    code: code as string | undefined,
    retryable: typeof all.isRetryable === 'boolean' ? all.isRetryable : undefined,
    headers: fieldsOf(all.responseHeaders) as Record<string, string>,
    body: typeof all.responseBody === 'string' ? all.responseBody.slice(0, mostRead) : '',
    network,
  }
}

/** The code of the network's error, however deep it lies: `ECONNREFUSED`. */
function causeOf(error: unknown): string | undefined {
  for (let at = error, depth = 0; at !== undefined && at !== null && depth < 8; depth++) {
    const { code, cause, errors } = fieldsOf(at)
    if (
      typeof code === 'string' &&
      /^(E[A-Z]{3,}|UND_ERR_\w+|ERR_TLS\w*|CERT_\w+|DEPTH_ZERO_\w+)$/.test(code)
    )
      return code
    at = cause ?? (Array.isArray(errors) ? errors[0] : undefined)
  }
  return undefined
}

/** The status that goes with the name of an error within a stream. */
function statusOf(type: unknown): number | undefined {
  const statuses: Record<string, number> = {
    overloaded_error: 529,
    rate_limit_error: 429,
    api_error: 500,
    authentication_error: 401,
    permission_error: 403,
    invalid_request_error: 400,
  }
  return typeof type === 'string' ? statuses[type] : undefined
}

/** Milliseconds until the provider wants to be asked again. */
function retryAfter({ headers, body }: Facts, now: () => number): number | undefined {
  const exact = Number(headers['retry-after-ms'])
  if (headers['retry-after-ms'] !== undefined && exact >= 0) return exact
  const given = headers['retry-after']
  if (given !== undefined) {
    const seconds = Number(given)
    const ms = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(given) - now()
    if (Number.isFinite(ms)) return Math.max(0, Math.round(ms))
  }
  const delay = /"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"/.exec(body)?.[1] // Google's way
  return delay === undefined ? undefined : Math.round(Number(delay) * 1_000)
}

function isRetryable(status: number): boolean {
  return status === 408 || status === 409 || status === 429 || status >= 500
}

function isStatus(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 400 && value <= 599
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value === 'string' && value.startsWith('{')) {
    try {
      return fieldsOf(JSON.parse(value))
    } catch {
      return {}
    }
  }
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

function short(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ')
  return line.length > longest ? `${line.slice(0, longest)}…` : line
}

/** A model's name that cannot be opened. */
export function badName(name: string, problem: string): InvalidError {
  return new InvalidError('model', `${JSON.stringify(name.slice(0, 100))} ${problem}`)
}
