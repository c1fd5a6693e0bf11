import type { ToolResultPolicy } from '../core/conversation.ts'
import { ConflictError, ExpiredError, InvalidError, KeyReusedError, NotFoundError } from '../core/errors.ts'
import type { MessageId } from '../core/ids.ts'
import type { NewMessage, NonEmpty } from '../core/message.ts'
import type { TurnEnd, TurnStatus, TurnStep, Usage } from '../core/turn.ts'
import type { AnswerDraft } from './answer-draft.ts'
import { hasToolResults, keepToolResults } from './keep-tool-results.ts'
import {
  type ConflictPolicy,
  findTurnPosition,
  firstStep,
  keyMove,
  openTurn,
  positionAfter,
  reopenBranchTurn,
  type TurnPosition,
  type TurnRequest,
} from './open-turn.ts'

export interface StepFacts {
  readonly usage?: Usage
  readonly model?: string
  /** The status after this step. Default: `open`. */
  readonly status?: TurnStatus
}

type EndFacts = Omit<TurnEnd, 'heldBy'>

/** The writes of a turn, one attempt each, and the position after them. Each is idempotent: it may be retried
 *  after a failure. Call them one after the other. */
export interface TurnWrites {
  /** The position of the turn; null before it is opened or found. */
  readonly position: TurnPosition | null
  /** `again`: this is a retry. */
  open(words: readonly NewMessage[], policy: ConflictPolicy, again: boolean): Promise<void>
  /** Reopens the turn at the end of the branch, if it was interrupted; otherwise finds a position for a new
   *  one. */
  reopen(policy: ConflictPolicy, again: boolean): Promise<void>
  findPosition(policy: ConflictPolicy): Promise<void>
  append(messages: readonly NewMessage[], facts: StepFacts): Promise<NonEmpty<MessageId>>
  /** False if this process holds no open turn for it. */
  putDraft(draft: AnswerDraft): Promise<boolean>
  renew(): Promise<boolean>
  /** Ends the turn, with the draft as its last message. Returns the stored status. */
  end(status: TurnEnd['status'], usage: Usage | undefined, draft: AnswerDraft): Promise<TurnEnd['status']>
}

/** The policy of queued writes: there is no caller to refuse to, so they fork. */
const forking: ConflictPolicy = { onBusy: 'fork', onMoved: 'fork' }

export function createTurnWrites(request: TurnRequest, onTakenOver: (error: unknown) => void): TurnWrites {
  const { store, source } = request
  const { conversationId } = request.ref
  let position: TurnPosition | null = null
  let resultPolicy: ToolResultPolicy | undefined

  return {
    get position() {
      return position
    },
    async open(words, policy, again) {
      position = await openTurn(request, await asKept(words), policy, again)
    },
    async reopen(policy, again) {
      position ??= await reopenBranchTurn(request, policy, again)
    },
    async findPosition(policy) {
      position ??= await findTurnPosition(request, policy)
    },
    append,
    putDraft,
    renew,
    end,
  }

  async function append(messages: readonly NewMessage[], facts: StepFacts): Promise<NonEmpty<MessageId>> {
    const kept = await asKept(messages)
    position ??= await findTurnPosition(request, forking)
    if (!position.begun) return begin(kept, facts)
    try {
      return await write(kept, facts)
    } catch (error) {
      if (!isTakenOver(error)) throw error
      if (await followRenamed()) return write(kept, facts)
      leave(error)
      return begin(kept, facts)
    }
  }

  /** A further step of the open turn. */
  async function write(messages: readonly NewMessage[], facts: StepFacts): Promise<NonEmpty<MessageId>> {
    const { key, step, branch, head } = position!
    const turn = { key, step, holder: source.holder(), status: 'open' as const, ...facts }
    const appended = await store.append(branch, head, messages, { turn })
    position = positionAfter(turn, appended, position!)
    return appended.ids
  }

  /** The first step of a turn that is not stored yet. */
  async function begin(messages: readonly NewMessage[], facts: StepFacts): Promise<NonEmpty<MessageId>> {
    const turn: TurnStep = { ...firstStep(request, 'open', position!.key), ...facts }
    for (;;) {
      const { branch, head } = position!
      try {
        const fork = { turn, onConflict: 'fork', ...keyMove(request) } as const
        const appended = await store.append(branch, head, messages, fork)
        position = positionAfter(turn, appended, position!)
        return appended.ids
      } catch (error) {
        const found = await replacedPosition(error, position!)
        if (!found) throw error
        position = { ...position!, ...found }
      }
    }
  }

  /** A new position, if the message or the branch of the old one was deleted. */
  async function replacedPosition(
    error: unknown,
    { branch, head }: TurnPosition,
  ): Promise<Partial<TurnPosition> | null> {
    if (!(error instanceof NotFoundError)) return null
    if (error.kind === 'message' && error.id === head) return { head: (await store.getBranch(branch)).head }
    if (error.kind !== 'branch') return null
    const { activeBranch } = await store.getConversation(conversationId)
    return activeBranch === branch.name ? null : { branch: { conversationId, name: activeBranch } }
  }

  /** Another process has the turn: later messages begin a new one. */
  function leave(error: unknown): void {
    position = { ...position!, key: source.uuid(), step: 0, begun: false }
    onTakenOver(error)
  }

  /** Whether the branch was only renamed. Follows it then. */
  async function followRenamed(): Promise<boolean> {
    const { key, branch } = position!
    const turn = await store.findTurn(conversationId, key)
    if (turn?.status !== 'open' || turn.branch === branch.name) return false
    position = { ...position!, branch: { conversationId, name: turn.branch } }
    return true
  }

  async function putDraft(draft: AnswerDraft): Promise<boolean> {
    const pieces = draft.unstored()
    if (!pieces) return true
    if (!position?.begun) return false
    try {
      await store.putDraft(conversationId, position.key, source.holder(), pieces)
    } catch (error) {
      // A failed draft does not fail the turn: the end stores the pieces at the latest.
      if (isTakenOver(error) || error instanceof InvalidError || error instanceof NotFoundError) return false
      throw error
    }
    draft.stored(pieces.at(-1)!)
    return true
  }

  async function renew(): Promise<boolean> {
    if (!position?.begun) return false
    try {
      await store.renewTurn(conversationId, position.key, source.holder())
      return true
    } catch (error) {
      // The next write will report it.
      if (isTakenOver(error) || error instanceof NotFoundError) return false
      throw error
    }
  }

  async function end(
    status: TurnEnd['status'],
    usage: Usage | undefined,
    draft: AnswerDraft,
  ): Promise<TurnEnd['status']> {
    const facts: EndFacts = { status, ...(usage && { usage }) }
    if (!position?.begun) return endUnbegun(facts, draft)
    const { key, branch } = position
    const whole = await putDraft(draft)
    try {
      const { message } = await store.endTurn(conversationId, key, { ...facts, heldBy: source.holder() })
      position = { ...position, begun: false, head: message ?? position.head }
      if (whole) return status
    } catch (error) {
      if (!isTakenOver(error)) throw error
    }
    return endedAlready(facts, draft, { key, branch })
  }

  /** The turn was already ended: by an earlier attempt whose outcome was unknown, or by another process,
   *  which had only a part of the answer. */
  async function endedAlready(
    facts: EndFacts,
    draft: AnswerDraft,
    { key, branch }: Pick<TurnPosition, 'key' | 'branch'>,
  ): Promise<TurnEnd['status']> {
    if (draft.isWaiting) {
      leave(new ExpiredError(`turn ${JSON.stringify(key)} was ended before its answer`))
      return endUnbegun(facts, draft)
    }
    const turn = await store.findTurn(conversationId, key)
    const ended = turn && turn.status !== 'open' ? turn.status : facts.status
    const head = ended === facts.status ? (await store.getBranch(branch)).head : position!.head
    position = { ...position!, begun: false, head }
    return ended
  }

  async function endUnbegun(facts: EndFacts, draft: AnswerDraft): Promise<TurnEnd['status']> {
    const message = draft.message(facts.status)
    if (message) {
      position ??= await findTurnPosition(request, forking)
      await begin([message], facts)
    }
    return facts.status
  }

  async function asKept(messages: readonly NewMessage[]): Promise<readonly NewMessage[]> {
    if (!messages.some(hasToolResults)) return messages
    resultPolicy ??= (await store.getConversation(conversationId)).toolResults
    const asked = resultPolicy
    return messages.map(message => keepToolResults(message, asked))
  }
}

/** Whether an error says that another process has the turn or its branch. */
function isTakenOver(error: unknown): boolean {
  return (
    error instanceof ExpiredError ||
    error instanceof ConflictError ||
    error instanceof KeyReusedError ||
    (error instanceof NotFoundError && (error.kind === 'branch' || error.kind === 'turn'))
  )
}
