import type { AgentEvent } from '../../agent/run/events.ts'
import { formatInteger, plural } from '../output/number.ts'

type MemoryEvent = Extract<AgentEvent, { type: 'memory' }>
type AskedEvent = Extract<AgentEvent, { type: 'asked' }>

/** How the agent got to know the conversation, and which attempts failed before: `memory: loaded`. */
export function memoryText(event: MemoryEvent): string {
  const failed = event.failed.map(({ tier, message }) => `${tier} failed: ${firstLine(message)}`)
  return [`memory: ${cameToKnow(event)}`, ...failed].join('; ')
}

function cameToKnow({ outcome, injected, untold }: MemoryEvent): string {
  switch (outcome) {
    case 'resumed':
    case 'loaded':
      return outcome
    case 'completed':
      return `restored, and told ${plural(injected, 'message')} that it lacked`
    case 'injected': {
      if (untold === 0) return `told ${plural(injected, 'message')} as text`
      return `told ${formatInteger(injected)} of ${formatInteger(injected + untold)} messages as text`
    }
    case 'fresh':
      return 'new to this conversation'
    default:
      return outcome satisfies never
  }
}

/** `mode: code, changed by the agent` */
export function settingText({ setting, problem }: Extract<AgentEvent, { type: 'setting' }>): string {
  const { id, value } = setting
  return problem === null
    ? `${id}: ${value}, changed by the agent`
    : `${id} could not be set to ${value} again: ${firstLine(problem)}`
}

/** `allowed: Run npm test` */
export function allowedText({ title, choice }: AskedEvent): string {
  return `${choice === 'accept' ? 'answered' : 'allowed'}: ${firstLine(title)}`
}

/** What is known of a call that was not allowed. */
export interface RefusedCall {
  /** The tool of our own agent; null for an agent of another program. */
  readonly tool: string | null
  /** Why the call needs a person; null for an ordinary one. */
  readonly reason: string | null
}

/** Forms that are not answered are `decline` and `cancel`; the agent of another program sent them. */
export function refusedText(
  { title, choice }: AskedEvent,
  canAsk: boolean,
  { tool, reason }: RefusedCall,
): string {
  const isForm = choice === 'decline' || choice === 'cancel'
  const why = reason === null ? '' : ` (${reason})`
  const text = `${isForm ? 'not answered' : 'not allowed'}: ${firstLine(title)}${why}`
  if (canAsk) return text
  const noTerminal = `${text}${/[.?!]$/.test(text) ? '' : '.'} There is no terminal to ask on`
  if (isForm) return noTerminal
  if (reason !== null) return `${noTerminal}; --allow does not cover this`
  return `${noTerminal}; ${tool === null ? '--allow allows everything' : `--allow ${tool} allows this tool`}`
}

function firstLine(text: string): string {
  return text.trim().split('\n', 1)[0]!
}
