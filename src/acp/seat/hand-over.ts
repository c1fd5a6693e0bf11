import { newestSummary } from '../../context/summary/newest-summary.ts'
import { type SummaryStore, summarize } from '../../context/summary/summarize.ts'
import type { BranchRef } from '../../core/branch.ts'
import type { ConversationId, MessageId } from '../../core/ids.ts'
import type { Model } from '../../core/model.ts'
import { unlessAborted } from '../../core/wait.ts'
import { defaultTellTokens, summaryFrom } from '../memory/history-text.ts'
import type { HistoryTelling } from '../memory/tell-history.ts'
import type { RunningAgent } from '../process/agent-process-slot.ts'
import { blockText } from '../transcript/answer-text.ts'
import type { Heard } from '../transcript/heard.ts'
import type { SilenceWatch } from './late-updates.ts'
import type { RecallCommand } from './recall-server.ts'
import type { SeatTranscript, TranscriptFolder } from './transcript-file.ts'

/** Summaries for the next agent of a conversation. Each one costs a model call. */
export interface HandOverSummaries {
  /** Summarizes if the agent that leaves has not done so. Null: only agents do. */
  readonly model: Model | null
}

/** How a conversation is handed over to an agent that does not know it. */
export interface HandOverOptions {
  /** Most tokens of an injected history. Default: 24,000. */
  readonly tell?: number
  /** Where the whole conversation is written if the agent is told a part of it. Default: nowhere. */
  readonly transcripts?: TranscriptFolder
  /** Summaries for the next agent. Default: none are made. */
  readonly summaries?: HandOverSummaries
  /** The command of `skein mcp` on the store, for an agent that has to be told something. Default: none. */
  readonly recall?: RecallCommand
}

/** The hand-over of one branch. */
export interface HandOver {
  readonly telling: HistoryTelling
  /** Takes an update of the agent if it belongs to a summary. */
  takes(heard: Heard): boolean
  /** Lets the agent that leaves summarize the conversation, if the person allows it. */
  summarize(agent: RunningAgent, sessionId: string, head: MessageId): Promise<void>
  removeTranscript(): Promise<void>
}

interface HandOverSeat extends HandOverOptions {
  readonly store: SummaryStore
  readonly agent: string
  readonly directory: string
  branch(): Promise<BranchRef>
}

/** How long an agent that leaves may take for a summary. */
const mostSummaryMs = 60_000

export function createHandOver(seat: HandOverSeat, watch: SilenceWatch): HandOver {
  const { store, transcripts, summaries } = seat
  const model = summaries?.model ?? null
  let transcript: SeatTranscript | null = null
  /** The answer of the agent that summarizes; null if none does. */
  let answer: string[] | null = null

  async function idOf(): Promise<ConversationId> {
    return (await seat.branch()).conversationId
  }

  async function write(head: MessageId): Promise<string | null> {
    transcript ??= transcripts!.of(await seat.branch())
    return transcript.write(head)
  }

  return {
    telling: {
      tokens: seat.tell ?? defaultTellTokens,
      directory: seat.directory,
      transcript: transcripts ? { write } : null,
      ...(model && { summarize: async head => summarizeLong(store, await idOf(), head, { model }) }),
    },
    takes(heard) {
      if (answer === null) return false
      if (heard.type === 'answer') answer.push(blockText(heard.block))
      return true
    },
    async summarize(agent, sessionId, head) {
      if (!summaries) return
      const leaving = leavingAgent(seat.agent, async text => {
        answer = []
        try {
          await agent.request('session/prompt', { sessionId, prompt: [{ type: 'text', text }] })
          await watch.silence()
          return answer.join('')
        } finally {
          answer = null
        }
      })
      const signal = AbortSignal.timeout(mostSummaryMs)
      await unlessAborted(summarizeLong(store, await idOf(), head, { model: leaving, signal }), signal)
    },
    removeTranscript: async () => transcript?.remove(),
  }
}

/** Summarizes a path of more than 20 messages, unless a stored summary covers all but the newest 20. The
 *  summary is stored and used by every later hand-over. A failure is not an error: the history is injected
 *  without it. */
async function summarizeLong(
  store: SummaryStore,
  conversationId: ConversationId,
  head: MessageId,
  { model, signal }: { readonly model: Model; readonly signal?: AbortSignal },
): Promise<void> {
  try {
    const { messages, older } = await store.tail(head, { messages: summaryFrom + 1 }, { blobs: 'preview' })
    const covered = (await newestSummary(store, messages))?.messages ?? 0
    if (older + messages.length - covered <= summaryFrom) return
    const failed = new AbortController()
    const signals = signal ? [signal, failed.signal] : [failed.signal]
    await summarize(
      store,
      { conversationId, head },
      { model: withoutQuotations(model, failed), signal: AbortSignal.any(signals) },
    )
  } catch {
    // The next hand-over tries again.
  }
}

/** A summary of quotations would stay for good: if the model fails, none is stored. */
function withoutQuotations(model: Model, failed: AbortController): Model {
  return {
    id: model.id,
    async *stream(request) {
      try {
        yield* model.stream(request)
      } catch (error) {
        failed.abort(error)
        throw error
      }
    },
  }
}

/** What the agent that leaves is asked for. */
const request =
  'Another agent will continue this conversation. Write a summary for it now, and use no tools: the goal and the ' +
  'decisions with their reasons, what was done and with which result, names of files, commands and errors that ' +
  'may be needed again, and what is still open. Answer with the summary alone.'

/** The agent as a model that summarizes: it knows the conversation, so that it gets the request only. */
function leavingAgent(id: string, ask: (request: string) => Promise<string>): Model {
  return {
    id,
    async *stream() {
      const text = await ask(request)
      yield {
        type: 'answer',
        answer: { content: [{ type: 'text', text }], finish: 'stop', usage: {}, model: null },
      }
    },
  }
}
