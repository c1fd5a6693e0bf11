import type { ModelErrorKind } from '../core/model-error-kind.ts'

/** How a model is reached, for errors that name the setting to check. */
export interface ModelAccess {
  /** The environment variable that holds the key. Absent if the key was given in the options. */
  readonly keyVariable?: string
  /** The URL of the server. */
  readonly address?: string
  /** The variable that holds the URL, if a user has to set it. */
  readonly addressVariable?: string
}

/** What is known of a failed call. */
export interface FailureFacts {
  /** Provider and name: `ollama/llama3.2`. */
  readonly model: string
  readonly status: number | undefined
  /** The provider's words, without secrets; '' without words. */
  readonly said: string
  /** The code of a network error: `ECONNREFUSED`. */
  readonly cause: string | undefined
  readonly retryAfterMs: number | undefined
  readonly access: ModelAccess
}

interface FailureText {
  /** What happened, after the name of the model. */
  readonly problem: string
  /** What helps; null if nothing is known to help. */
  readonly hint: string | null
}

/** The texts of failed calls: one row for each kind. */
export const failureTexts: Readonly<Record<ModelErrorKind, (facts: FailureFacts) => FailureText>> = {
  key_refused: facts => ({
    problem: worded('the provider does not accept the key', facts),
    hint: `Check ${keyOf(facts)}`,
  }),
  not_allowed: facts => ({
    problem: worded('the key is not allowed to do this', facts),
    hint: `Check what ${keyOf(facts)} may use, or choose another model`,
  }),
  unknown_model: facts => ({
    problem: worded('the provider does not have this model', facts),
    hint: isOllama(facts) ? `Download it: ollama pull ${nameOf(facts)}` : `Check ${nameAndAddress(facts)}`,
  }),
  rate_limited: facts => ({
    problem: worded('too many requests', facts),
    hint: `Try again in ${facts.retryAfterMs === undefined ? 'a minute' : seconds(facts.retryAfterMs)}`,
  }),
  no_credit: facts => ({
    problem: worded('the account has no credit left', facts),
    hint: 'Add credit at the provider, or choose another model',
  }),
  overloaded: facts => ({
    problem: worded('the provider is overloaded or failing', facts),
    hint: 'Try again in a minute, or choose another model',
  }),
  unreachable: facts => {
    const { address, addressVariable } = facts.access
    // The origin only: a URL may contain a password.
    const at = address !== undefined && URL.canParse(address) ? ` at ${new URL(address).origin}` : ''
    const help = addressVariable === undefined ? '' : ` ${addressVariable} has its address`
    const running = isOllama(facts) ? 'Is Ollama running? Start it: ollama serve' : null
    return {
      problem: `cannot be reached${at}${reason(facts)}`,
      hint: running ?? (help === '' ? 'Check the network connection' : `Is the server running?${help}`),
    }
  },
  broke_off: facts => ({ problem: brokenText(facts), hint: null }),
  bad_request: facts => ({ problem: worded('the provider refused the request', facts), hint: null }),
  other: facts => ({ problem: facts.said === '' ? 'failed without a word' : facts.said, hint: null }),
}

/** `the provider does not accept the key (401): invalid x-api-key` */
function worded(problem: string, { status, said }: Pick<FailureFacts, 'status' | 'said'>): string {
  const code = status === undefined ? '' : ` (${status})`
  return `${problem}${code}${said === '' ? '' : `: ${said}`}`
}

/** The code of a network error is for programs, so the text says what it means. */
function brokenText(facts: FailureFacts): string {
  const { cause, said } = facts
  const whole = 'before the answer was complete'
  if (cause !== undefined) {
    return /TIMEOUT|ETIMEDOUT/.test(cause)
      ? `${serverOf(facts)} sent nothing for too long, ${whole}`
      : `the connection to ${serverOf(facts)} was lost ${whole}`
  }
  if (/^(terminated|fetch failed)$/i.test(said))
    return `the connection to ${serverOf(facts)} was lost ${whole}`
  return worded(`${serverOf(facts)} broke off ${whole}`, { status: undefined, said })
}

/** The provider, or the address of a server that has no name: a URL may contain a password, so its origin
 *  only. */
function serverOf({ model, access: { address } }: FailureFacts): string {
  const [provider = model] = model.split('/', 1)
  return provider === 'compatible' && address !== undefined && URL.canParse(address)
    ? new URL(address).origin
    : provider
}

function reason({ cause, said }: FailureFacts): string {
  if (cause !== undefined) return ` (${cause})`
  return said === '' ? '' : `: ${said}`
}

function keyOf({ access: { keyVariable } }: FailureFacts): string {
  return keyVariable ?? 'the key'
}

function isOllama({ model }: FailureFacts): boolean {
  return model.startsWith('ollama/')
}

function nameOf({ model }: FailureFacts): string {
  return model.slice(model.indexOf('/') + 1)
}

function nameAndAddress({ access: { addressVariable } }: FailureFacts): string {
  return addressVariable === undefined ? 'its name' : `its name and ${addressVariable}`
}

function seconds(ms: number): string {
  const whole = Math.max(1, Math.ceil(ms / 1_000))
  return whole < 120 ? `${whole} s` : `${Math.ceil(whole / 60)} minutes`
}
