import type { Agent } from '../../../agent/agent.ts'
import type { Target } from '../../../agent/history/history.ts'
import type { AgentStore } from '../../../agent/options.ts'
import type { Run } from '../../../agent/run/run.ts'
import type { Window } from '../../../context/fit/window.ts'
import { readContext } from '../../../context/read-context.ts'
import type { BranchRef } from '../../../core/branch.ts'
import type { Conversation } from '../../../core/conversation.ts'
import { ContextLengthError } from '../../../core/errors.ts'
import type { MessageId } from '../../../core/ids.ts'
import type { NewMessage } from '../../../core/message.ts'
import type { Model } from '../../../core/model.ts'
import type { Deleter, Lister, MessageReader } from '../../../core/ports.ts'
import type { CommandContext } from '../../command-line/command-context.ts'
import { openNamedModel } from '../../model/choose-model.ts'
import { createModelSetup, type ModelSetup } from '../../model/model-setup.ts'
import { turnCost } from '../../output/cost.ts'
import { tildify } from '../../output/tildify.ts'
import type { ChosenConversation } from '../../target/choose-conversation.ts'
import type { StatusFacts } from './status-line.ts'

/** What a chat needs of a store. */
export type ChatStore = AgentStore & Lister & Pick<Deleter, 'trash'>

/** The position of a chat in its conversation. */
export interface ChatPosition {
  readonly conversation: Conversation
  readonly branch: BranchRef
  readonly head: MessageId | null
}

/** Sends the messages of a chat to its model, and keeps its position. The model and the conversation can
 *  change during the chat. */
export interface ChatController {
  readonly model: Model
  /** True if another program answers. */
  readonly isForeign: boolean
  /** How much of the window the model may receive. */
  readonly window: Window
  /** Null in an incognito chat. */
  readonly store: ChatStore | null
  readonly system: string | null
  /** Sends a message. If another process is answering on the branch, the run waits, forks, or fails with
   *  BusyError before anything is sent. */
  send(words: string | NewMessage, onBusy?: 'refuse' | 'wait' | 'fork'): Promise<Run>
  /** Resumes the turn that has no answer. */
  resume(): Promise<Run>
  /** The thinking of the last answer, as far as it has arrived in this chat. */
  thinking: string
  /** Remembers an exchange if there is no store. */
  remember(words: string | NewMessage, answer: string): void
  /** Continues in another conversation. Nothing is created there before the first message. */
  goTo(chosen: ChosenConversation): void
  goToBranch(branch: BranchRef): void
  /** Changes the model, by the name that the user types. If there is no such model, throws and changes
   *  nothing. */
  useModel(name: string): Promise<void>
  /** The position of the chat; null before the first message, and without a store. */
  position(): Promise<ChatPosition | null>
  status(): Promise<StatusFacts>
  /** Continues on the branch that a turn was stored on. */
  follow(branch: BranchRef | null): void
  /** The same, if the chat is still on the branch `from`. */
  followFrom(from: BranchRef | null, to: BranchRef): void
  close(): Promise<void>
}

export interface ChatControllerOptions {
  readonly context: CommandContext
  readonly store: ChatStore | null
  readonly chosen: ChosenConversation
  readonly setup: ModelSetup
  readonly system: string | null
}

export function createChatController({
  context,
  store,
  system,
  ...initial
}: ChatControllerOptions): ChatController {
  let { setup } = initial
  let chosen: ChosenConversation | null = initial.chosen
  let target: Target | null = null
  let branch: BranchRef | null = branchOf(initial.chosen)
  const said: NewMessage[] = []
  let agent: Promise<Agent> | null = null

  function answering(): Promise<Agent> {
    agent ??= setup.agentOn(store, [...said])
    return agent
  }

  async function entered(): Promise<Target> {
    target ??= await chosen!.enter(setup.model.id)
    return target
  }

  async function position(): Promise<ChatPosition | null> {
    if (store === null || branch === null) return null
    const conversation = await store.getConversation(branch.conversationId)
    const planned = target === null ? chosen?.fork : null
    return { conversation, branch, head: planned ? planned.at : (await store.getBranch(branch)).head }
  }

  function follow(to: BranchRef | null): void {
    if (to === null) return
    branch = { conversationId: to.conversationId, name: to.name }
    target = branch
  }

  return {
    get model() {
      return setup.model
    },
    get isForeign() {
      return setup.isForeign
    },
    get window() {
      return setup.contextWindow
    },
    store,
    system,
    thinking: '',
    async send(words, onBusy = 'refuse') {
      const to = await entered()
      return (await answering()).send(to, words, { onBusy, signal: context.signal })
    },
    async resume() {
      const to = await entered()
      return (await answering()).resume(to, { onBusy: 'refuse', signal: context.signal })
    },
    remember(words, answer) {
      if (store !== null) return
      said.push(typeof words === 'string' ? { role: 'user', content: words } : words)
      if (answer !== '') said.push({ role: 'assistant', content: answer })
    },
    goTo(next) {
      chosen = next
      target = null
      branch = branchOf(next)
      said.length = 0
      if (store === null) agent = null
    },
    goToBranch(next) {
      chosen = null
      branch = { conversationId: next.conversationId, name: next.name }
      target = branch
    },
    async useModel(name) {
      const { choice, config } = setup
      const model = await openNamedModel(name, context, choice.aliases)
      setup = createModelSetup(
        model,
        { ...choice, id: model.id, from: 'flag' },
        config,
        system ?? undefined,
        setup.options,
      )
      agent = null
    },
    position,
    follow,
    followFrom(from, to) {
      if (from?.conversationId === branch?.conversationId && from?.name === branch?.name) follow(to)
    },
    async status() {
      const at = await position()
      const { model, isForeign } = setup
      const window = isForeign ? null : setup.window
      const directory = tildify(context.cwd, context.env)
      if (at === null || store === null) {
        const used = said.reduce((sum, { content: blocks }) => sum + Math.ceil(String(blocks).length / 4), 0)
        const name = store === null ? null : (branch?.name ?? 'main')
        return {
          directory,
          branch: name,
          messages: said.length,
          model: model.id,
          used,
          window,
          cost: isForeign ? null : 0,
        }
      }
      const { used, messages } = await fillAt(store, at.head, isForeign ? null : setup.contextWindow, system)
      const { cost } = at.conversation
      const known = cost > 0 || (messages === 0 && !isForeign) ? cost : turnCost(model.id, {})
      return {
        directory,
        branch: at.branch.name,
        messages,
        model: model.id,
        used,
        window,
        cost: known,
      }
    },
    async close() {
      await (await agent)?.close()
    },
  }
}

function branchOf({ status, fork }: ChosenConversation): BranchRef | null {
  if (status === null) return null
  return { conversationId: status.conversation.id, name: fork?.name ?? status.branch.name }
}

/** What the next call would send, as far as we decide that, and the number of messages on the path. */
async function fillAt(
  store: MessageReader,
  head: MessageId | null,
  window: Window | null,
  system: string | null,
) {
  if (head === null) return { used: 0, messages: 0 }
  const [message] = await store.getMessages([head], { blobs: 'preview' })
  const messages = message!.depth + 1
  if (window === null) return { used: 0, messages }
  try {
    const { fitted } = await readContext(store, head, window, { system }, { toolResults: 'preview' })
    return { used: fitted.tokens.total, messages }
  } catch (error) {
    if (!(error instanceof ContextLengthError)) throw error
    return { used: window.limit, messages }
  }
}
