import type { MessageId } from '../../core/ids.ts'
import type { Message } from '../../core/message.ts'
import type { Seated } from '../seat/take-seat.ts'
import { lackingIn } from './compare.ts'
import type { MemoryReport, Outcome } from './outcome.ts'
import { messagesAfter, readKnown, type TellingLimits, type TellingStore, tellingOf } from './telling.ts'

/** What has to stand before the next prompt, and how the agent came to know what it knows. */
export interface ToTell {
  readonly report: MemoryReport
  readonly text: string | null
}

/** What an agent has to be told before a prompt that follows `head`. What it claims to know is checked where
 *  it can be: a replay is compared with what is stored. Null if its session has seen what is not on the path:
 *  then it must not be used. */
export async function whatToTell(
  store: TellingStore,
  seated: Seated,
  head: MessageId | null,
  limits: TellingLimits,
): Promise<ToTell | null> {
  const { failed } = seated
  if (head === null) return seated.seen === null ? toldNothing('fresh', seated) : null
  const lacking = await lackingTo(store, seated, head)
  if (lacking === null) return null
  const { messages, older, knows } = lacking
  const telling = await tellingOf(store, messages, older, limits)
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

async function lackingTo(store: TellingStore, seated: Seated, head: MessageId): Promise<Lacking | null> {
  const { way, seen, inSystem } = seated
  if (way === 'load') return lackingAfterLoad(store, seated, head)
  const has = seen ?? inSystem?.upTo ?? null
  if (has === null) return { ...(await readKnown(store, head)), knows: 'nothing' }
  const messages = await messagesAfter(store, has, head)
  return messages && { messages, older: 0, knows: 'something' }
}

async function lackingAfterLoad(
  store: TellingStore,
  { seen, inSystem, replay }: Seated,
  head: MessageId,
): Promise<Lacking | null> {
  if (seen !== null && (await messagesAfter(store, seen, head)) === null) return null
  const { messages, older } = await readKnown(store, head)
  const inPrompt = inSystem === null ? -1 : messages.findIndex(({ id }) => id === inSystem.upTo)
  const told = messages.slice(inPrompt + 1)
  const lacking = lackingIn(await replay.whole(), told)
  const knowsNothing = inSystem === null && lacking.length === told.length
  return {
    messages: lacking,
    older: knowsNothing ? older : 0,
    knows: knowsNothing ? 'nothing' : 'something',
  }
}

/** An agent that was told all of it when its session began, in the system prompt, was told. */
function outcomeOf({ way }: Seated): Outcome {
  return way === 'resume' ? 'resumed' : way === 'load' ? 'loaded' : 'injected'
}

/** For an agent that has heard everything in its present session. */
export function nothingToTell(seated: Seated): ToTell {
  return toldNothing(outcomeOf(seated), seated)
}

function toldNothing(outcome: Outcome, { failed, inSystem }: Seated): ToTell {
  const injected = outcome === 'injected' ? (inSystem?.messages ?? 0) : 0
  return { text: null, report: { outcome, injected, untold: inSystem?.untold ?? 0, failed } }
}
