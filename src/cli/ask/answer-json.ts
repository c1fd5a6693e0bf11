import type { Reply } from '../../agent/events.ts'
import type { MessageId } from '../../core/ids.ts'
import type { MessageReader } from '../../core/ports.ts'
import type { Usage } from '../../core/turn.ts'
import type { ContextFacts } from '../answer/answer-notes.ts'
import { turnCost } from '../output/cost.ts'
import type { Chosen } from '../target/choose-conversation.ts'

/** What `--json` prints for a prompt. Fields are only ever added. */
export interface AnswerJson {
  readonly conversation: string | null
  readonly branch: string | null
  readonly message: string | null
  readonly parent: string | null
  readonly resumed: 'continued' | 'new' | 'forked' | 'fresh'
  readonly status: 'complete' | 'interrupted' | 'failed'
  readonly text: string
  readonly model: string
  readonly usage: Readonly<
    Record<'input' | 'output' | 'cache_read' | 'cache_write' | 'reasoning', number | null>
  >
  readonly cost_usd: number | null
  readonly context: {
    readonly used: number
    readonly window: number
    readonly left_out: number
    readonly summarised: number
  } | null
  readonly saved: boolean
}

export interface AnswerFacts {
  readonly chosen: Chosen
  /** True if somebody else was answering, so that this went beside it. */
  readonly forked: boolean
  readonly status: AnswerJson['status']
  readonly reply: Pick<Reply, 'text' | 'usage' | 'branch' | 'head' | 'saved'>
  readonly model: string
  readonly window: number
  readonly context: ContextFacts | null
}

export async function answerJson(facts: AnswerFacts, store: MessageReader | null): Promise<AnswerJson> {
  const { chosen, forked, status, reply, model, context, window } = facts
  const { how } = chosen
  return {
    conversation: reply.branch?.conversationId ?? null,
    branch: reply.branch?.name ?? null,
    message: reply.head,
    parent: store && reply.head ? await parentOf(store, reply.head) : null,
    resumed: forked ? 'forked' : how === 'incognito' ? 'new' : how,
    status,
    text: reply.text,
    model,
    usage: usageJson(reply.usage),
    cost_usd: turnCost(model, reply.usage),
    context: context && {
      used: context.used,
      window,
      left_out: context.leftOut,
      summarised: context.summarised,
    },
    saved: store !== null && reply.saved,
  }
}

function usageJson(usage: Usage): AnswerJson['usage'] {
  return {
    input: usage.input ?? null,
    output: usage.output ?? null,
    cache_read: usage.cacheRead ?? null,
    cache_write: usage.cacheWrite ?? null,
    reasoning: usage.reasoning ?? null,
  }
}

async function parentOf(store: MessageReader, id: MessageId): Promise<string | null> {
  const [message] = await store.getMessages([id], { blobs: 'preview' })
  return message?.parentId ?? null
}
