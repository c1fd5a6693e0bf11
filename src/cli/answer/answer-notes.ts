import type { AgentEvent } from '../../agent/run/events.ts'
import type { ModelErrorKind } from '../../core/model-error-kind.ts'
import { modelName } from '../../core/model-name.ts'
import type { BranchWait } from '../../recorder/recording.ts'
import { formatCount, formatInteger, plural } from '../output/number.ts'
import { formatDuration } from '../output/time.ts'

type ContextEvent = Extract<AgentEvent, { type: 'context' }>

/** How much of a conversation the model received. */
export interface ContextFacts {
  readonly used: number
  readonly budget: number
  readonly leftOut: number
  readonly summarised: number
}

export function contextFacts({ tokens, left, older }: ContextEvent): ContextFacts {
  const of = (summarised: boolean) =>
    left
      .filter(({ reason }) => (reason === 'summarised') === summarised)
      .reduce((sum, { messages }) => sum + messages, 0)
  return { used: tokens.total, budget: tokens.budget, leftOut: older + of(false), summarised: of(true) }
}

/** `summary: 38 messages are now 610 tokens. All are kept.` */
export function summaryText(messages: number, tokens: number, outcome: string): string {
  const by = outcome === 'extractive' ? ' in their own words' : ''
  const are = messages === 1 ? 'is' : 'are'
  return `summary: ${plural(messages, 'message')} ${are} now ${formatCount(tokens)} tokens${by}. All are kept.`
}

/** `window: 14 older messages were left out of this call. All are kept.` */
export function windowText(messages: number): string {
  const were = messages === 1 ? 'message was' : 'messages were'
  return `window: ${formatInteger(messages)} older ${were} left out of this call. All are kept.`
}

export function shortenedText(messages: number): string {
  const were = messages === 1 ? 'message was' : 'messages were'
  return `window: ${formatInteger(messages)} long ${were} shortened for this call. All are kept.`
}

/** `thought for 12 s` */
export function thoughtText(ms: number): string {
  const long = ms < 1_000 ? 'less than a second' : formatDuration(Math.round(ms / 1_000) * 1_000)
  return `thought for ${long}`
}

type RetryEvent = Extract<AgentEvent, { type: 'retrying' }>

/** `anthropic limits the rate (429): trying again in 5 s, 2 tries left`. `pause` is the wait in words. */
export function retryText({ error, left }: Pick<RetryEvent, 'error' | 'left'>, pause: string): string {
  const provider = error.model.split('/', 1)[0]!
  const status = error.status === null ? '' : ` (${error.status})`
  return `${provider} ${retryReasons[error.kind] ?? 'failed'}${status}: trying again in ${pause}, ${plural(left, 'try', 'tries')} left`
}

/** Why a call is repeated, after the name of the provider. */
const retryReasons: Readonly<Partial<Record<ModelErrorKind, string>>> = {
  rate_limited: 'limits the rate',
  overloaded: 'is overloaded',
  unreachable: 'cannot be reached',
  broke_off: 'broke off',
}

/** The outcome of a search in earlier conversations. No line if nothing was found. */
export function recalledLines(outcome: 'found' | 'nothing' | 'failed'): readonly string[] {
  if (outcome === 'found') return ['recalled: what earlier conversations say about this is sent too']
  return outcome === 'failed' ? ['recalled: nothing, earlier conversations could not be searched'] : []
}

/** `waiting for the turn of process 4711 on this host` */
export function waitingText({ holder }: Pick<BranchWait, 'holder'>): string {
  if (holder === null) return 'waiting for another turn of this conversation'
  return `waiting for the turn of process ${holder.pid} on ${holder.host}. Ctrl+C stops waiting`
}

type IgnoredEvent = Extract<AgentEvent, { type: 'ignored' }>

/** `gpt-5.5 ignores seed: the API of openai does not support it` */
export function ignoredText({ model, option, reason }: Omit<IgnoredEvent, 'type'>): string {
  const name = optionNames[option] ?? option
  if (reason === null)
    return `${modelName(model)} ignores ${name}: the API of ${model.split('/', 1)[0]} does not support it`
  return `${modelName(model)} does not use ${name} as given: ${reason}`
}

/** Options whose names differ after `-o` and in skein.yaml. */
const optionNames: Readonly<Partial<Record<IgnoredEvent['option'], string>>> = {
  topP: 'top_p',
  maxOutput: 'max_output',
}
