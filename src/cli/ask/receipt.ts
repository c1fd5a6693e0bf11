import type { Reply } from '../../agent/run/events.ts'
import { turnCost } from '../../api/cost.ts'
import { type TokensJson, tokensJson } from '../../api/usage.ts'
import type { MessageId } from '../../core/ids.ts'
import { modelName } from '../../core/model-name.ts'
import type { MessageReader } from '../../core/ports.ts'
import type { Usage } from '../../core/turn.ts'
import type { ContextFacts } from '../answer/answer-notes.ts'
import { widthOf } from '../output/cut.ts'
import { formatCount, formatMoney } from '../output/number.ts'
import type { Output } from '../output/output.ts'
import type { ChosenConversation } from '../target/choose-conversation.ts'

/** What `--json` prints for a prompt. Fields are only ever added. */
export interface AnswerJson {
  readonly conversation: string | null
  readonly branch: string | null
  readonly message: string | null
  readonly parent: string | null
  readonly resumed: 'continued' | 'new' | 'forked' | 'fresh'
  readonly status: 'complete' | 'interrupted' | 'failed'
  /** Why the answer ended: see `Reply.stop`. Null if the turn failed. */
  readonly stop: Reply['stop'] | null
  readonly text: string
  readonly model: string
  readonly usage: TokensJson
  readonly cost_usd: number | null
  readonly context: {
    readonly used: number
    readonly window: number
    /** Most tokens of a context: the part of the window that may be used. */
    readonly limit: number
    readonly left_out: number
    readonly summarised: number
  } | null
  readonly saved: boolean
}

export interface AnswerFacts {
  readonly chosen: ChosenConversation
  /** True if another process was answering, so that this turn is on a sibling branch. */
  readonly forked: boolean
  readonly status: AnswerJson['status']
  readonly stop: AnswerJson['stop']
  readonly reply: Pick<Reply, 'text' | 'usage' | 'branch' | 'head' | 'saved'>
  readonly model: string
  readonly window: number
  readonly context: ContextFacts | null
}

export async function answerJson(facts: AnswerFacts, store: MessageReader | null): Promise<AnswerJson> {
  const { chosen, forked, status, stop, reply, model, context, window } = facts
  const { how } = chosen
  return {
    conversation: reply.branch?.conversationId ?? null,
    branch: reply.branch?.name ?? null,
    message: reply.head,
    parent: store && reply.head ? await parentOf(store, reply.head) : null,
    resumed: forked ? 'forked' : how === 'incognito' ? 'new' : how,
    status,
    stop,
    text: reply.text,
    model,
    usage: tokensJson(reply.usage),
    cost_usd: turnCost(model, reply.usage),
    context: context && {
      used: context.used,
      window,
      limit: context.budget,
      left_out: context.leftOut,
      summarised: context.summarised,
    },
    saved: store !== null && reply.saved,
  }
}

async function parentOf(store: MessageReader, id: MessageId): Promise<string | null> {
  const [message] = await store.getMessages([id], { blobs: 'preview' })
  return message?.parentId ?? null
}

/** The contents of a receipt. */
export interface ReceiptFacts {
  /** The shortest unique id of the stored answer; null if nothing is stored. */
  readonly message: string | null
  /** True if the answer should be stored but is not. Default: false. */
  readonly isUnsaved?: boolean
  readonly model: string
  readonly usage: Usage
  /** In dollars; null if the price is unknown. */
  readonly cost: number | null
  /** How much of the limit the next call uses; null if unknown. */
  readonly context: { readonly used: number; readonly limit: number } | null
}

/** `saved t4m6xe · sonnet-4.5 · 74k in (69k cached), 1.2k out · $0.05 · context 37%`. If the line is too
 *  wide, it drops the model first, then the context, then the tokens. */
export function receiptLine(facts: ReceiptFacts, { style, width }: Output): string {
  const { message, model, usage, cost, context, isUnsaved = false } = facts
  const unkept = isUnsaved ? 'not saved' : 'not kept'
  const parts = [
    { text: message === null ? unkept : `saved ${style.id(message)}`, leaves: 9 },
    { text: style.safe(modelName(model)), leaves: 1 },
    { text: usageText(usage), leaves: 3 },
    { text: formatMoney(cost), leaves: 9 },
    { text: contextText(context), leaves: 2 },
  ]
  const lines = [0, 1, 2, 3].map(dropped =>
    parts
      .filter(({ text, leaves }) => text !== '' && leaves > dropped)
      .map(({ text }) => text)
      .join(` ${style.symbols.dot} `),
  )
  return lines.find(line => widthOf(line) <= width) ?? lines.at(-1)!
}

/** `74k in (69k cached), 1.2k out`; '' if the provider reports no usage. */
function usageText({ input, output, cacheRead }: Usage): string {
  const cached = cacheRead ? ` (${formatCount(cacheRead)} cached)` : ''
  const parts = [
    input === undefined ? '' : `${formatCount(input)} in${cached}`,
    output === undefined ? '' : `${formatCount(output)} out`,
  ]
  return parts.filter(part => part !== '').join(', ')
}

function contextText(context: ReceiptFacts['context']): string {
  const percent = context === null ? 0 : Math.round((100 * context.used) / context.limit)
  return percent < 1 ? '' : `context ${percent}%`
}
