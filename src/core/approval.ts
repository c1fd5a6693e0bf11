import type { ConversationId, MessageId } from './ids.ts'
import type { Json } from './json.ts'

/** What a call does, as the Agent Client Protocol names it. */
export type CallKind =
  | 'read'
  | 'search'
  | 'edit'
  | 'delete'
  | 'move'
  | 'execute'
  | 'fetch'
  | 'think'
  | 'other'

/** What a call would change, to show it to a person. */
export type CallPreview =
  | {
      readonly type: 'diff'
      /** The file, as an absolute path. */
      readonly path: string
      /** Null for a new file. */
      readonly oldText: string | null
      /** The text after the change. */
      readonly newText: string
    }
  | {
      readonly type: 'command'
      /** The command line, as the shell gets it. */
      readonly command: string
      /** The directory in which it runs. */
      readonly directory: string
    }

/** A call that waits for an answer. It consists of JSON and ids only, so that it can be stored and
 *  answered by another process. */
export interface ApprovalRequest {
  /** Identifies the call within its conversation. A resumed turn asks again with the same id. */
  readonly callId: string
  /** The name of the tool. */
  readonly name: string
  /** The arguments, as the model wrote them. */
  readonly input: Json
  /** What the call does. Guessed from the tool's name unless the tool declares it. */
  readonly kind: CallKind
  /** The call in one line, for people. */
  readonly title: string
  /** What it would change. Null if the tool cannot tell. */
  readonly preview: CallPreview | null
  /** Why this call is asked for in every mode. Null for an ordinary call. */
  readonly reason: string | null
  /** Which later calls an answer for longer than one call covers. */
  readonly scope: string
  /** The conversation. Null if nothing is stored. */
  readonly conversationId: ConversationId | null
  /** The stored message that contains the call. Null if it is queued, or if there is no store. */
  readonly messageId: MessageId | null
  /** The key of the turn. */
  readonly turn: string
}

/** The answer to a request: once, for this conversation, always, or not at all. */
export type ApprovalAnswer = 'allow' | 'allow_in_conversation' | 'allow_always' | 'deny'

/** A stored request. */
export interface StoredApproval extends ApprovalRequest {
  /** Identifies the request. It follows from the message and the call, so a repeated request has the same. */
  readonly id: string
  /** The conversation of the call. */
  readonly conversationId: ConversationId
  /** The answer that contains the call. */
  readonly messageId: MessageId
  /** When it was asked for. */
  readonly askedAt: Date
  /** `pending` until it is answered, or until its branch continues without it, which withdraws it. */
  readonly status: 'pending' | 'answered' | 'withdrawn'
  /** Null unless it is answered. */
  readonly answer: ApprovalAnswer | null
  /** Who answered. Null if it is not answered, or if the person gave no name. */
  readonly answeredBy: string | null
  /** What the person said to it. A reason of a denial is told to the model. Null if there is none. */
  readonly comment: string | null
  /** Null unless it is answered. */
  readonly answeredAt: Date | null
}

/** An answer to a stored request. */
export interface NewApprovalAnswer {
  /** Whether the call may run. */
  readonly answer: ApprovalAnswer
  /** Who answers. Default: null. */
  readonly by?: string | null
  /** What the model should know, such as the reason of a denial. Default: null. */
  readonly comment?: string | null
}

/** Which approvals to list. */
export interface ListApprovals {
  /** Only those of this conversation. Default: of all conversations that are not in the trash. */
  readonly conversationId?: ConversationId
  /** Default: `pending`. */
  readonly status?: StoredApproval['status'] | 'any'
}

/** Keeps requests for approvals, which any process can answer. A request is a trace event, written by the
 *  agent; so it is copied, exported and erased with its conversation. */
export interface ApprovalKeeper {
  /** Requests of tool calls, the newest first: the newest 1,000 are considered.
   *
   * @example
   * ```ts
   * import { openStore } from 'skein'
   * import { createAgent, tool } from 'skein/agent'
   * import { scripted } from 'skein/models'
   * import { z } from 'zod'
   *
   * await using store = await openStore(':memory:')
   * const deploy = tool({
   *   description: 'Deploys a service',
   *   input: z.object({ service: z.string() }),
   *   needsApproval: true,
   *   run: ({ service }) => `${service} is deployed`,
   * })
   * const script = [{ calls: [{ name: 'deploy', input: { service: 'shop' } }] }, 'The shop is deployed.']
   * await using agent = createAgent({ store, model: scripted({ script }), tools: { deploy } })
   * const { stop } = await agent.ask('ops', 'Deploy the shop.')
   * console.log(stop) // approval
   *
   * // Days later, in any process that opens the store:
   * const [waiting] = await store.listApprovals()
   * console.log(waiting!.title) // deploy shop
   * await store.answerApproval(waiting!.conversationId, waiting!.id, { answer: 'allow', by: 'ada' })
   * const { text } = await agent.resume('ops').result()
   * console.log(text) // The shop is deployed.
   * ```
   */
  listApprovals(options?: ListApprovals): Promise<readonly StoredApproval[]>
  /** One request, answered or not. Throws NotFoundError. */
  getApproval(conversationId: ConversationId, id: string): Promise<StoredApproval>
  /** Answers a pending request. Of several callers, in any process, one succeeds; the others get
   *  ExpiredError, as does a caller whose request was withdrawn. Throws NotFoundError. The call runs when its
   *  turn is resumed. */
  answerApproval(
    conversationId: ConversationId,
    id: string,
    answer: NewApprovalAnswer,
  ): Promise<StoredApproval>
}

/** The names of the answers in events, which are those of the Agent Client Protocol. */
export const answerNames: Readonly<Record<ApprovalAnswer, string>> = {
  allow: 'allow_once',
  allow_in_conversation: 'allow_in_conversation',
  allow_always: 'allow_always',
  deny: 'reject_once',
}
