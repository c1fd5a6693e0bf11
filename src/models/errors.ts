import { ContextLengthError, InvalidError, ModelError, SkeinError } from '../core/errors.ts'
import type { ModelErrorKind } from '../core/model-error-kind.ts'
import { withoutSecrets } from '../system/secrets.ts'
import { BrokenOff } from './answer.ts'
import { failureTexts, type ModelAccess } from './failure-texts.ts'

const longest = 300

/** Most characters of an error response to read: a proxy may send whole pages. */
const mostRead = 10_000

/** The circumstances of a failed call. */
export interface FailedCall {
  /** Keys to remove from the provider's words. */
  readonly keys?: readonly string[]
  readonly access?: ModelAccess
  /** True if the provider had begun to answer. */
  readonly hasBegun?: boolean
  readonly now?: () => number
}

/** Converts an error of a provider, its client or the network. The result has the kind, the status, the
 *  provider's message, shortened, what helps and the time to retry, but no request, headers or key, and no
 *  foreign error with them. */
export function modelError(
  error: unknown,
  model: string,
  { keys = [], access = {}, hasBegun = false, now = Date.now }: FailedCall = {},
): SkeinError {
  if (error instanceof SkeinError) return error
  const isBroken = error instanceof BrokenOff
  const found = factsOf(isBroken ? error.said : error)
  const { status, cause } = found
  const retryAfterMs = retryAfter(found, now)
  const said = withoutSecrets(found.message, keys).trim()
  const overflow = overflowIn(`${found.code ?? ''} ${found.message}`)
  if (overflow !== null && status !== 401 && status !== 403) {
    return new ContextLengthError(`${model}: ${short(said || 'the context is too long')}`, overflow)
  }
  const retryable =
    found.retryable ?? (status === undefined ? isBroken || found.network : isRetryable(status))
  const kind = kindOf(found, isBroken || hasBegun)
  const text = failureTexts[kind]({ model, status, said: short(said), cause, retryAfterMs, access })
  return new ModelError(model, text.problem, {
    kind,
    hint: text.hint,
    retryable: retryable && kind !== 'no_credit',
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
  /** The body of the response, as far as it was read. */
  readonly body: string
  /** The connection failed, not the provider. */
  readonly network: boolean
  /** The code of the network error. */
  readonly cause: string | undefined
}

/** Not every provider has a status for every kind: Google refuses a key with 400, Anthropic an account
 *  without credit. */
function kindOf({ status, code, message, network }: Facts, hasBegun: boolean): ModelErrorKind {
  if (network) return hasBegun ? 'broke_off' : 'unreachable'
  if (status === undefined) return hasBegun ? 'broke_off' : 'other'
  if (status === 402 || code === 'insufficient_quota' || /credit balance is too low/i.test(message))
    return 'no_credit'
  if (status === 401 || (status < 404 && /api.?key.{0,20}(not valid|invalid|incorrect)/i.test(message)))
    return 'key_refused'
  if (status === 404 || code === 'model_not_found') return 'unknown_model'
  if (status === 403) return 'not_allowed'
  if (status === 429) return 'rate_limited'
  return isRetryable(status) ? 'overloaded' : 'bad_request'
}

/** Reads an error by its fields, not by its class: several versions of a client may be loaded. */
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
    message,
    status,
    code: code as string | undefined,
    retryable: typeof all.isRetryable === 'boolean' ? all.isRetryable : undefined,
    headers: fieldsOf(all.responseHeaders) as Record<string, string>,
    body: typeof all.responseBody === 'string' ? all.responseBody.slice(0, mostRead) : '',
    network,
    cause,
  }
}

/** The code of a network error at any depth of causes: `ECONNREFUSED`. */
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

/** The status of an error in a stream, by its name. */
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

/** Milliseconds after which the provider asks for a retry. */
function retryAfter({ headers, body }: Facts, now: () => number): number | undefined {
  const exact = Number(headers['retry-after-ms'])
  if (headers['retry-after-ms'] !== undefined && exact >= 0) return exact
  const given = headers['retry-after']
  if (given !== undefined) {
    const seconds = Number(given)
    const ms = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(given) - now()
    if (Number.isFinite(ms)) return Math.max(0, Math.round(ms))
  }
  const delay = /"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"/.exec(body)?.[1] // Google's format
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

/** The error for a model name that cannot be opened. */
export function badName(name: string, problem: string): InvalidError {
  return new InvalidError('model', `${JSON.stringify(name.slice(0, 100))} ${problem}`)
}

/** What a provider reports about a context that is too long. */
interface Overflow {
  readonly limit?: number
  readonly needed?: number
}

/** The wordings of providers, those with numbers first. They have no common error code. */
const wordings: readonly RegExp[] = [
  // Anthropic
  /prompt is too long: (?<needed>\d+) tokens? > (?<limit>\d+) maximum/i,
  /input length and `?max_tokens`? exceed context limit: (?<input>\d+) \+ (?<output>\d+) > (?<limit>\d+)/i,
  // OpenAI, vLLM, OpenRouter and most compatible servers
  /maximum context length (?:is|of) (?<limit>\d+)(?: tokens)?\D{1,60}?(?:resulted in|requested)(?: about)? (?<needed>\d+)/i,
  /request too large for .*?limit (?<limit>\d+), requested (?<needed>\d+)/is,
  // Google
  /input token count \(?(?<needed>\d+)\)? exceeds the maximum number of tokens allowed \(?(?<limit>\d+)\)?/i,
  /input token count exceeds the maximum number of tokens allowed \(?(?<limit>\d+)\)?/i,
  // llama.cpp and LM Studio
  /request \((?<needed>\d+) tokens\) exceeds the available context size \((?<limit>\d+) tokens\)/i,
  /context length of only (?<limit>\d+) tokens/i,
  // xAI, Mistral, Copilot
  /maximum prompt length is (?<limit>\d+) but the request contains (?<needed>\d+) tokens/i,
  /prompt contains (?<needed>\d+) tokens.*?too large for model with (?<limit>\d+) maximum context length/is,
  /prompt token count of (?<needed>\d+) exceeds the limit of (?<limit>\d+)/i,
  // The same without numbers
  /maximum context length is (?<limit>\d+)/i,
  /prompt is too long|request_too_large|request exceeds the maximum size|input is too long for requested model/i,
  /exceeds the context window|context_length_exceeded|context length exceeded|model_context_window_exceeded/i,
  /exceeds? the available context size|exceed_context_size_error|greater than the context length/i,
  /reduce the length of the (?:messages|prompt|input)|exceeded model token limit|context window exceeds limit/i,
]

/** The numbers, if this text says that a context is too long; null if it does not. */
export function overflowIn(said: string): Overflow | null {
  const plain = said.replaceAll(/(?<=\d)[,_](?=\d{3}\b)/g, '')
  for (const wording of wordings) {
    const match = wording.exec(plain)
    if (match === null) continue
    const { limit, needed, input, output } = match.groups ?? {}
    const sum = needed ?? (input === undefined ? undefined : String(Number(input) + Number(output)))
    return {
      ...(limit !== undefined && { limit: Number(limit) }),
      ...(sum !== undefined && { needed: Number(sum) }),
    }
  }
  return null
}
