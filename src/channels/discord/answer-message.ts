import type { Agent } from '../../agent/agent.ts'
import type { AgentEvent, Reply } from '../../agent/run/events.ts'
import type { NewBlock } from '../../core/block.ts'
import type { BranchRef } from '../../core/branch.ts'
import type { NewMessage } from '../../core/message.ts'
import { beginTurn } from '../../recorder/begin-turn.ts'
import type { AnswerStream } from './answer-stream.ts'
import { readAttachments } from './attachments.ts'
import type { ChannelStore } from './conversations.ts'
import { failureLine, type KeptPart } from './failure-line.ts'
import type { IncomingMessage } from './incoming.ts'
import { discordTurnKey } from './place.ts'

/** Why a running answer is stopped. */
export type AnswerStop = 'asked' | 'closing'

const stopLines: Readonly<Record<AnswerStop, string>> = {
  asked: '-# Stopped. What arrived is kept.',
  closing: '-# Interrupted: the bot is shutting down. Send a message later to continue.',
}

const storedLine = '-# The store is back, and everything is stored.'

/** What a turn needs. */
export interface AnswerSetup {
  readonly message: IncomingMessage
  readonly branch: BranchRef
  readonly stream: AnswerStream
  /** Aborted with a `AnswerStop`. */
  readonly signal: AbortSignal
  /** Texts that no line may contain. */
  readonly secrets: readonly string[]
}

/** Sends a message to the agent of its conversation and shows the answer as it grows. A failure is shown as
 *  one line, and returned for the log. */
export async function answerMessage(agent: Agent, setup: AnswerSetup): Promise<unknown> {
  const { message, branch, stream, signal, secrets } = setup
  let kept: KeptPart = 'nothing'
  try {
    const words = await wordsFor(message, signal)
    const run = agent.send(branch, words, { key: discordTurnKey(message.id), signal })
    let gap = ''
    for await (const event of run) {
      kept = keptAfter(event, kept)
      if (event.type === 'text') {
        stream.write(gap + event.text)
        gap = ''
      } else if (event.type === 'answered') gap = '\n\n'
      else if (event.type === 'trouble') tellTrouble(event.trouble.kind, stream)
    }
    tellEnd(await run.result(), stream, signal)
    return null
  } catch (error) {
    stream.note(failureLine(error, kept, secrets))
    return error
  }
}

/** What is stored if the turn fails after this event. */
function keptAfter(event: AgentEvent, before: KeptPart): KeptPart {
  switch (event.type) {
    case 'started':
      return before === 'waiting' ? before : 'words'
    case 'text':
      return before === 'words' ? 'part' : before
    case 'trouble':
      return event.trouble.kind === 'recovered' ? 'part' : 'waiting'
    default:
      return before
  }
}

function tellTrouble(
  kind: Extract<AgentEvent, { type: 'trouble' }>['trouble']['kind'],
  stream: AnswerStream,
) {
  // `degraded` alone may be over in a moment.
  if (kind === 'unsaved')
    stream.note('⚠ The store does not answer. Your message waits in memory, and is stored later.')
  if (kind === 'recovered') stream.note(storedLine)
  if (kind === 'lost') stream.note('⚠ The store refuses this message. It is not stored.')
}

function tellEnd(reply: Reply, stream: AnswerStream, signal: AbortSignal): void {
  const stop: AnswerStop = signal.reason === 'asked' ? 'asked' : 'closing'
  const isStopped = reply.status === 'interrupted'
  if (isStopped && (reply.saved || stop === 'closing')) stream.note(stopLines[stop])
  else if (!reply.saved) tellUnsaved(reply, stream)
  else if (reply.stop === 'length') stream.note('-# The answer was cut at the limit of its output.')
  else if (reply.stop === 'refused') stream.note('-# The model declined to answer.')
  else if (reply.stop === 'filtered')
    stream.note('-# A filter of the provider held back a part of the answer.')
  else if (reply.stop === 'steps') stream.note('-# Stopped: too many steps for one answer.')
  else if (reply.text.trim() === '') stream.note('-# The model gave no answer.')
}

/** Also changes the line when the exchange is stored, or cannot be. */
function tellUnsaved({ whenSaved }: Reply, stream: AnswerStream): void {
  const lost = '⚠ The store refuses this exchange. It is not stored.'
  stream.note(
    whenSaved ? '⚠ The store does not answer. This exchange waits in memory, and is stored later.' : lost,
  )
  void whenSaved?.then(({ saved }) => stream.note(saved ? storedLine : lost))
}

/** The words and files of a person, with the author in the metadata. Nothing is added to the words. */
async function wordsFor(
  { id, author, text, attachments }: IncomingMessage,
  signal: AbortSignal | null,
): Promise<NewMessage> {
  const media = signal === null ? [] : await readAttachments(attachments, signal)
  const blocks: NewBlock[] = [...(text === '' ? [] : [{ type: 'text', text } as const]), ...media]
  return {
    role: 'user',
    content: blocks.length === 1 && text !== '' ? text : blocks,
    metadata: { author: { id: author.id, name: author.name }, discord: { message: id } },
  }
}

/** The time to store a message that will not be answered. */
const storeWithinMs = 5_000

/** Stores a message that waits while the bot shuts down, without an answer. */
export async function storeUnanswered(
  store: ChannelStore,
  message: IncomingMessage,
  branch: BranchRef,
): Promise<void> {
  if (message.text === '') return
  const turn = await beginTurn(store, branch, {
    words: [await wordsFor(message, null)],
    key: discordTurnKey(message.id),
    onBusy: 'wait',
    signal: AbortSignal.timeout(storeWithinMs),
  })
  await turn.end('interrupted')
}
