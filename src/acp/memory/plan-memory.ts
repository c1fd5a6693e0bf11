import type { MessageId } from '../../core/ids.ts'
import type { Message } from '../../core/message.ts'
import type { Heard } from '../transcript/heard.ts'
import type { FailedTier, MemoryOutcome, MemoryReport } from './memory-report.ts'
import { missingMessages } from './missing-messages.ts'
import { type HistoryReader, messagesAfter, readCompared, readNewest } from './read-history.ts'
import { type HistoryTelling, tellHistory } from './tell-history.ts'

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
  /** The MCP server that was given to the session to read the conversation. Absent if there is none. */
  readonly recall?: string
}

/** A history in a system prompt. */
export interface SystemHistory {
  /** The last message of the history. */
  readonly upTo: MessageId
  /** Messages that the text was made of, and older ones that it leaves out. */
  readonly messages: number
  readonly untold: number
  readonly transcript: string | null
}

/** The text to inject before the next prompt, and the report of how the agent gets its memory. */
export interface MemoryPlan {
  readonly report: MemoryReport
  readonly text: string | null
}

/** Plans the memory for a prompt after `head`. The agent's claims are verified where possible: a replay is
 *  compared with the store. Null if the session has seen messages that are not on the path: then it must not
 *  be used. */
export async function planMemory(
  store: HistoryReader,
  session: SessionMemory,
  head: MessageId | null,
  telling: HistoryTelling,
): Promise<MemoryPlan | null> {
  const { failed, recall } = session
  if (head === null) return session.seen === null ? planWithoutText('fresh', session) : null
  const missing = await missingFor(store, session, head)
  if (missing === null) return null
  const { messages, older, knows } = missing
  const part = { messages, older, head, isAll: knows === 'nothing' }
  const history = await tellHistory(store, part, recall === undefined ? telling : { ...telling, recall })
  if (!history) return planWithoutText(knows === 'nothing' ? 'fresh' : outcomeOf(session), session)
  const outcome = knows === 'nothing' ? 'injected' : 'completed'
  return {
    text: history.text,
    report: {
      outcome,
      injected: history.messages,
      untold: history.untold,
      transcript: history.transcript,
      failed,
    },
  }
}

interface MissingPart {
  readonly messages: readonly Message[]
  /** Older messages that the agent lacks as well. */
  readonly older: number
  /** Whether the agent has any of the messages. */
  readonly knows: 'something' | 'nothing'
}

async function missingFor(
  store: HistoryReader,
  session: SessionMemory,
  head: MessageId,
): Promise<MissingPart | null> {
  const { way, seen, inSystem } = session
  if (way === 'load') return missingAfterLoad(store, session, head)
  const has = seen ?? inSystem?.upTo ?? null
  if (has === null) return { ...(await readNewest(store, head)), knows: 'nothing' }
  const messages = await messagesAfter(store, has, head)
  return messages && { messages, older: 0, knows: 'something' }
}

async function missingAfterLoad(
  store: HistoryReader,
  { seen, inSystem, replay }: SessionMemory,
  head: MessageId,
): Promise<MissingPart | null> {
  const unseen = seen === null ? [] : await messagesAfter(store, seen, head)
  if (unseen === null) return null
  const { messages } = await readCompared(store, unseen.length, head)
  const inPrompt = inSystem === null ? -1 : messages.findIndex(({ id }) => id === inSystem.upTo)
  const outside = messages.slice(inPrompt + 1)
  const missing = missingMessages(await replay.whole(), outside)
  const knowsNothing = inSystem === null && missing.length === outside.length
  if (knowsNothing) return { ...(await readNewest(store, head)), knows: 'nothing' }
  return { messages: missing, older: 0, knows: 'something' }
}

/** A new session without missing messages has them in its system prompt. */
function outcomeOf({ way }: SessionMemory): MemoryOutcome {
  return way === 'resume' ? 'resumed' : way === 'load' ? 'loaded' : 'injected'
}

/** The plan for an agent that has everything in its current session. */
export function planNothing(session: SessionMemory): MemoryPlan {
  return planWithoutText(outcomeOf(session), session)
}

function planWithoutText(outcome: MemoryOutcome, { failed, inSystem }: SessionMemory): MemoryPlan {
  const injected = outcome === 'injected' ? (inSystem?.messages ?? 0) : 0
  const { untold = 0, transcript = null } = inSystem ?? {}
  return { text: null, report: { outcome, injected, untold, transcript, failed } }
}
