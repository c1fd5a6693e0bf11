import type { MessageId } from '../../core/ids.ts'
import type { Message } from '../../core/message.ts'
import type { Heard } from '../transcript/heard.ts'
import {
  type HistoryReader,
  historyText,
  type InjectionLimits,
  messagesAfter,
  readNewest,
} from './history-text.ts'
import type { FailedTier, MemoryOutcome, MemoryReport } from './memory-report.ts'
import { missingMessages } from './missing-messages.ts'

/** What is known about the memory of an agent's session. */
export interface SessionMemory {
  /** How the session was opened. */
  readonly way: 'resume' | 'load' | 'new'
  readonly failed: readonly FailedTier[]
  /** The updates that the agent sent while it opened the session. */
  readonly replay: { whole(): Promise<readonly Heard[]> }
  /** The last message that the agent is known to have; null if it has none. */
  readonly seen: MessageId | null
  /** The history in its system prompt; null if there is none. */
  readonly inSystem: SystemHistory | null
}

/** A history in a system prompt. */
export interface SystemHistory {
  /** The last message of the history. */
  readonly upTo: MessageId
  /** Messages that the text was made of, and older ones that it leaves out. */
  readonly messages: number
  readonly untold: number
}

/** What has to stand before the next prompt, and how the agent came to know what it knows. */
export interface MemoryPlan {
  readonly report: MemoryReport
  readonly text: string | null
}

/** What an agent has to be told before a prompt that follows `head`. What it claims to know is checked where
 *  it can be: a replay is compared with what is stored. Null if its session has seen what is not on the path:
 *  then it must not be used. */
export async function planMemory(
  store: HistoryReader,
  seated: SessionMemory,
  head: MessageId | null,
  limits: InjectionLimits,
): Promise<MemoryPlan | null> {
  const { failed } = seated
  if (head === null) return seated.seen === null ? toldNothing('fresh', seated) : null
  const lacking = await lackingTo(store, seated, head)
  if (lacking === null) return null
  const { messages, older, knows } = lacking
  const telling = await historyText(store, messages, older, limits)
  if (!telling) return toldNothing(knows === 'nothing' ? 'fresh' : outcomeOf(seated), seated)
  const outcome = knows === 'nothing' ? 'injected' : 'completed'
  return {
    text: telling.text,
    report: { outcome, injected: telling.messages, untold: telling.untold, failed },
  }
}

interface Lacking {
  readonly messages: readonly Message[]
  /** Messages before those that it lacks as well. */
  readonly older: number
  /** Whether there is anything that it knows. */
  readonly knows: 'something' | 'nothing'
}

async function lackingTo(
  store: HistoryReader,
  seated: SessionMemory,
  head: MessageId,
): Promise<Lacking | null> {
  const { way, seen, inSystem } = seated
  if (way === 'load') return lackingAfterLoad(store, seated, head)
  const has = seen ?? inSystem?.upTo ?? null
  if (has === null) return { ...(await readNewest(store, head)), knows: 'nothing' }
  const messages = await messagesAfter(store, has, head)
  return messages && { messages, older: 0, knows: 'something' }
}

async function lackingAfterLoad(
  store: HistoryReader,
  { seen, inSystem, replay }: SessionMemory,
  head: MessageId,
): Promise<Lacking | null> {
  if (seen !== null && (await messagesAfter(store, seen, head)) === null) return null
  const { messages, older } = await readNewest(store, head)
  const inPrompt = inSystem === null ? -1 : messages.findIndex(({ id }) => id === inSystem.upTo)
  const told = messages.slice(inPrompt + 1)
  const lacking = missingMessages(await replay.whole(), told)
  const knowsNothing = inSystem === null && lacking.length === told.length
  return {
    messages: lacking,
    older: knowsNothing ? older : 0,
    knows: knowsNothing ? 'nothing' : 'something',
  }
}

/** An agent that was told all of it when its session began, in the system prompt, was told. */
function outcomeOf({ way }: SessionMemory): MemoryOutcome {
  return way === 'resume' ? 'resumed' : way === 'load' ? 'loaded' : 'injected'
}

/** The plan for an agent that has got everything in its present session. */
export function planNothing(seated: SessionMemory): MemoryPlan {
  return toldNothing(outcomeOf(seated), seated)
}

function toldNothing(outcome: MemoryOutcome, { failed, inSystem }: SessionMemory): MemoryPlan {
  const injected = outcome === 'injected' ? (inSystem?.messages ?? 0) : 0
  return { text: null, report: { outcome, injected, untold: inSystem?.untold ?? 0, failed } }
}
