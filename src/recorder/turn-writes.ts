import type { ToolResultPolicy } from '../core/conversation.ts'
import { ConflictError, ExpiredError, InvalidError, KeyReusedError, NotFoundError } from '../core/errors.ts'
import type { MessageId } from '../core/ids.ts'
import type { NewMessage, NonEmpty } from '../core/message.ts'
import type { TurnEnd, TurnStatus, TurnStep, Usage } from '../core/turn.ts'
import type { AnswerDraft } from './answer-draft.ts'
import {
  findPlace,
  firstStep,
  type Manners,
  type Opening,
  openTurn,
  type Standing,
  standingAfter,
} from './opening.ts'
import { reopen } from './reopening.ts'
import { hasToolResults, keepToolResults } from './tool-results.ts'

export interface StepFacts {
  readonly usage?: Usage
  readonly model?: string
  /** The status after this step: `open` unless said otherwise. */
  readonly status?: TurnStatus
}

type EndFacts = Omit<TurnEnd, 'heldBy'>

/** The writes of a turn, one attempt each, and where they lead. Each may be tried again after it failed: then it
 *  does nothing twice. They have to be made one after the other. */
export interface TurnWrites {
  /** Where the turn stands; null before it was opened or found its place. */
  readonly standing: Standing | null
  /** `again` says that it was tried before. */
  open(words: NonEmpty<NewMessage>, manners: Manners, again: boolean): Promise<void>
  /** Takes up the turn that the branch ends with, if it was interrupted; otherwise finds a place for a new one. */
  reopen(manners: Manners, again: boolean): Promise<void>
  findPlace(manners: Manners): Promise<void>
  append(messages: NonEmpty<NewMessage>, facts: StepFacts): Promise<NonEmpty<MessageId>>
  /** False if there is no open turn of ours that could take it. */
  putDraft(draft: AnswerDraft): Promise<boolean>
  renew(): Promise<boolean>
  /** Ends the turn with what had arrived of an answer. Returns the status that is stored. */
  end(status: TurnEnd['status'], usage: Usage | undefined, draft: AnswerDraft): Promise<TurnEnd['status']>
}

/** Where nobody is left to be asked, words go beside what is in their way. */
const beside: Manners = { onBusy: 'fork', onMoved: 'fork' }

export function turnWrites(opening: Opening, onTakenOver: (error: unknown) => void): TurnWrites {
  const { store, source } = opening
  const { conversationId } = opening.ref
  let standing: Standing | null = null
  let policy: ToolResultPolicy | undefined

  return {
    get standing() {
      return standing
    },
    async open(words, manners, again) {
      standing = await openTurn(opening, await asKept(words), manners, again)
    },
    async reopen(manners, again) {
      standing ??= await reopen(opening, manners, again)
    },
    async findPlace(manners) {
      standing ??= await findPlace(opening, manners)
    },
    append,
    putDraft,
    renew,
    end,
  }

  async function append(messages: NonEmpty<NewMessage>, facts: StepFacts): Promise<NonEmpty<MessageId>> {
    const kept = await asKept(messages)
    standing ??= await findPlace(opening, beside)
    if (!standing.begun) return begin(kept, facts)
    try {
      return await write(kept, facts)
    } catch (error) {
      if (!isOfAnother(error)) throw error
      if (await followRenamed()) return write(kept, facts)
      leave(error)
      return begin(kept, facts)
    }
  }

  /** A further step of the turn that is ours. */
  async function write(messages: NonEmpty<NewMessage>, facts: StepFacts): Promise<NonEmpty<MessageId>> {
    const { key, step, branch, head } = standing!
    const turn = { key, step, holder: source.holder(), status: 'open' as const, ...facts }
    const appended = await store.append(branch, head, messages, { turn })
    standing = standingAfter(turn, appended, standing!)
    return appended.ids
  }

  /** The first step of a turn that is not in the store yet. */
  async function begin(messages: NonEmpty<NewMessage>, facts: StepFacts): Promise<NonEmpty<MessageId>> {
    const turn: TurnStep = { ...firstStep(opening, 'open', standing!.key), ...facts }
    for (;;) {
      const { branch, head } = standing!
      try {
        const appended = await store.append(branch, head, messages, { turn, onConflict: 'sibling' })
        standing = standingAfter(turn, appended, standing!)
        return appended.ids
      } catch (error) {
        const found = await otherFooting(error, standing!)
        if (!found) throw error
        standing = { ...standing!, ...found }
      }
    }
  }

  /** What we stood on may be gone: a message that was deleted, a branch that was removed. */
  async function otherFooting(error: unknown, { branch, head }: Standing): Promise<Partial<Standing> | null> {
    if (!(error instanceof NotFoundError)) return null
    if (error.kind === 'message' && error.id === head) return { head: (await store.getBranch(branch)).head }
    if (error.kind !== 'branch') return null
    const { activeBranch } = await store.getConversation(conversationId)
    return activeBranch === branch.name ? null : { branch: { conversationId, name: activeBranch } }
  }

  /** The turn is no longer ours: what follows is another one. */
  function leave(error: unknown): void {
    standing = { ...standing!, key: source.uuid(), step: 0, begun: false }
    onTakenOver(error)
  }

  /** Whether the branch only has another name now. */
  async function followRenamed(): Promise<boolean> {
    const { key, branch } = standing!
    const turn = await store.findTurn(conversationId, key)
    if (turn?.status !== 'open' || turn.branch === branch.name) return false
    standing = { ...standing!, branch: { conversationId, name: turn.branch } }
    return true
  }

  async function putDraft(draft: AnswerDraft): Promise<boolean> {
    const pieces = draft.unstored()
    if (!pieces) return true
    if (!standing?.begun) return false
    try {
      await store.putDraft(conversationId, standing.key, source.holder(), pieces)
    } catch (error) {
      // A draft is no reason to give anything else up: what arrived is stored at the end at the latest.
      if (isOfAnother(error) || error instanceof InvalidError || error instanceof NotFoundError) return false
      throw error
    }
    draft.stored(pieces.at(-1)!)
    return true
  }

  async function renew(): Promise<boolean> {
    if (!standing?.begun) return false
    try {
      await store.renewTurn(conversationId, standing.key, source.holder())
      return true
    } catch (error) {
      // The next write finds it out.
      if (isOfAnother(error) || error instanceof NotFoundError) return false
      throw error
    }
  }

  async function end(
    status: TurnEnd['status'],
    usage: Usage | undefined,
    draft: AnswerDraft,
  ): Promise<TurnEnd['status']> {
    const facts: EndFacts = { status, ...(usage && { usage }) }
    if (!standing?.begun) return endUnbegun(facts, draft)
    const { key, branch } = standing
    const whole = await putDraft(draft)
    try {
      const { message } = await store.endTurn(conversationId, key, { ...facts, heldBy: source.holder() })
      standing = { ...standing, begun: false, head: message ?? standing.head }
      if (whole) return status
    } catch (error) {
      if (!isOfAnother(error)) throw error
    }
    return endedAlready(facts, draft, { key, branch })
  }

  /** By an attempt of ours whose outcome was unknown, or by another, who knew only a part of the answer. */
  async function endedAlready(
    facts: EndFacts,
    draft: AnswerDraft,
    { key, branch }: Pick<Standing, 'key' | 'branch'>,
  ): Promise<TurnEnd['status']> {
    if (draft.waits) {
      leave(new ExpiredError(`turn ${JSON.stringify(key)} was ended before its answer`))
      return endUnbegun(facts, draft)
    }
    const turn = await store.findTurn(conversationId, key)
    const ended = turn && turn.status !== 'open' ? turn.status : facts.status
    const head = ended === facts.status ? (await store.getBranch(branch)).head : standing!.head
    standing = { ...standing!, begun: false, head }
    return ended
  }

  async function endUnbegun(facts: EndFacts, draft: AnswerDraft): Promise<TurnEnd['status']> {
    const message = draft.message(facts.status)
    if (message) {
      standing ??= await findPlace(opening, beside)
      await begin([message], facts)
    }
    return facts.status
  }

  async function asKept(messages: NonEmpty<NewMessage>): Promise<NonEmpty<NewMessage>> {
    if (!messages.some(hasToolResults)) return messages
    policy ??= (await store.getConversation(conversationId)).toolResults
    const asked = policy
    return messages.map(message => keepToolResults(message, asked)) as unknown as NonEmpty<NewMessage>
  }
}

/** Whether an error says that the turn, or its branch, has become another's. */
function isOfAnother(error: unknown): boolean {
  return (
    error instanceof ExpiredError ||
    error instanceof ConflictError ||
    error instanceof KeyReusedError ||
    (error instanceof NotFoundError && (error.kind === 'branch' || error.kind === 'turn'))
  )
}
