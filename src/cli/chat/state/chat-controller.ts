import { settingValueName } from '../../../acp/host/agent-settings.ts'
import type { Host } from '../../../acp/host/host-options.ts'
import type { Agent } from '../../../agent/agent.ts'
import type { Target } from '../../../agent/history/history.ts'
import type { AgentStore } from '../../../agent/options.ts'
import type { Run } from '../../../agent/run/run.ts'
import { isFree } from '../../../api/cost.ts'
import type { Config } from '../../../config/config.ts'
import type { ReadContext } from '../../../context/read-context.ts'
import type { BranchRef } from '../../../core/branch.ts'
import type { Conversation } from '../../../core/conversation.ts'
import { ContextLengthError } from '../../../core/errors.ts'
import type { MessageId } from '../../../core/ids.ts'
import { type NewMessage, textOf } from '../../../core/message.ts'
import type { Model } from '../../../core/model.ts'
import type { Deleter, Lister, MessageReader } from '../../../core/ports.ts'
import type { CommandContext } from '../../command-line/command-context.ts'
import { checkDemo, openNamedModel } from '../../model/choose-model.ts'
import { createModelSetup, type ModelSetup, setupFor } from '../../model/model-setup.ts'
import { tildify } from '../../output/tildify.ts'
import type { ChosenConversation } from '../../target/choose-conversation.ts'
import type { StatusFacts } from './status-line.ts'

/** What a chat needs of a store. */
export type ChatStore = AgentStore & Lister & Pick<Deleter, 'trash'>

/** The position of a chat in its conversation. */
export interface ChatPosition {
  readonly conversation: Conversation
  /** The branch, or the branch that a planned fork leaves. */
  readonly branch: BranchRef
  readonly head: MessageId | null
  /** True if the next message creates a branch at the head. */
  readonly isPlanned: boolean
}

/** What the next call of a chat sends, and the model that gets it. */
export interface ChatContext {
  readonly read: ReadContext
  readonly model: string
}

/** Sends the messages of a chat to its model, and keeps its position. The model and the conversation can
 *  change during the chat. */
export interface ChatController {
  readonly model: Model
  readonly config: Config
  /** The agent of another program, if one answers; otherwise null. */
  readonly host: Host | null
  /** The branch that the chat is on; null before the first message. */
  readonly branch: BranchRef | null
  /** The model's window, in tokens. */
  readonly window: number
  /** Null in an incognito chat. */
  readonly store: ChatStore | null
  /** What the next call sends, with the current model or another one; null before the first message. */
  context(model?: string): Promise<ChatContext | null>
  /** Sends a message. If another process is answering on the branch, the run waits, forks, or fails with
   *  BusyError before anything is sent. */
  send(words: string | NewMessage, onBusy?: 'refuse' | 'wait' | 'fork'): Promise<Run>
  /** Answers the last message: the one that has no answer, or, on a planned fork, again. */
  resume(): Promise<Run>
  /** The thinking of the last answer, as far as it has arrived in this chat. */
  thinking: string
  /** Remembers an exchange if there is no store. */
  remember(words: string | NewMessage, answer: string): void
  /** Continues in another conversation. Nothing is created there before the first message. */
  goTo(chosen: ChosenConversation): Promise<void>
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
}

export function createChatController({ context, store, ...initial }: ChatControllerOptions): ChatController {
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

  async function entered(words: string | null): Promise<Target> {
    target ??= await chosen!.enter(setup, words)
    return target
  }

  async function anotherSetup(name: string): Promise<ModelSetup> {
    const { choice, config } = setup
    const model = await openNamedModel(name, context, config)
    return createModelSetup(model, { ...choice, id: model.id, from: 'flag' }, config, setup.options)
  }

  async function position(): Promise<ChatPosition | null> {
    if (store === null || branch === null) return null
    const conversation = await store.getConversation(branch.conversationId)
    const planned = target === null ? chosen?.fork : null
    const head = planned ? planned.at : (await store.getBranch(branch)).head
    return { conversation, branch, head, isPlanned: Boolean(planned) }
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
    get config() {
      return setup.config
    },
    get host() {
      return setup.host
    },
    get branch() {
      return branch
    },
    get window() {
      return setup.window
    },
    store,
    async context(name) {
      const at = await position()
      if (at === null || store === null) return null
      const used = name === undefined ? setup : await anotherSetup(name)
      return { read: await used.contextAt(store, at.conversation, at.head, store), model: used.model.id }
    },
    thinking: '',
    async send(words, onBusy = 'refuse') {
      const to = await entered(typeof words === 'string' ? words : textOf(words))
      return (await answering()).send(to, words, { onBusy, signal: context.signal })
    },
    async resume() {
      const to = await entered(null)
      return (await answering()).resume(to, { onBusy: 'refuse', signal: context.signal })
    },
    remember(words, answer) {
      if (store !== null) return
      said.push(typeof words === 'string' ? { role: 'user', content: words } : words)
      if (answer !== '') said.push({ role: 'assistant', content: answer })
    },
    async goTo(next) {
      const before = setup
      setup = await setupFor(before, next.status?.conversation ?? null, context)
      if (setup !== before || store === null) agent = null
      chosen = next
      target = null
      branch = branchOf(next)
      said.length = 0
    },
    goToBranch(next) {
      chosen = null
      branch = { conversationId: next.conversationId, name: next.name }
      target = branch
    },
    async useModel(name) {
      const next = await anotherSetup(name)
      const at = await position()
      if (at !== null && store !== null) {
        checkDemo(next.choice, at.conversation)
        const change = next.changeOf(at.conversation)
        if (change !== null) await store.updateConversation(at.conversation.id, change)
      }
      setup = next
      agent = null
    },
    position,
    follow,
    followFrom(from, to) {
      if (from?.conversationId === branch?.conversationId && from?.name === branch?.name) follow(to)
    },
    async status() {
      const at = await position()
      const { model, host } = setup
      const window = host ? null : setup.limit()
      const modes = await modesOf(host, branch)
      const directory = tildify(context.cwd, context.env)
      if (at === null || store === null) {
        const used = said.reduce((sum, { content: blocks }) => sum + Math.ceil(String(blocks).length / 4), 0)
        const name = store === null ? null : (branch?.name ?? 'main')
        return {
          directory,
          branch: name,
          messages: said.length,
          model: model.id,
          modes,
          used,
          window,
          cost: isFree(model.id) ? 0 : null,
        }
      }
      const { used, messages } = await fillAt(store, at, setup)
      const { cost } = at.conversation
      return {
        directory,
        branch: at.isPlanned ? 'new branch' : at.branch.name,
        messages,
        model: model.id,
        modes,
        used,
        window,
        // Nothing was paid yet, or the price is unknown.
        cost: cost === 0 && !isFree(model.id) ? null : cost,
      }
    },
    async close() {
      await (await agent)?.close()
    },
  }
}

/** The model and the mode of another program's agent, as far as they are known. */
async function modesOf(host: Host | null, branch: BranchRef | null): Promise<readonly string[]> {
  const offer = (await host?.knownOffer(branch)) ?? null
  const shown = ['model', 'mode'].map(name => offer?.settings.find(({ category }) => category === name))
  return shown.flatMap(setting => (setting ? [settingValueName(setting)] : []))
}

function branchOf({ status }: ChosenConversation): BranchRef | null {
  return status && { conversationId: status.conversation.id, name: status.branch.name }
}

/** What the next call would send, as far as we decide that, and the number of messages on the path. */
async function fillAt(store: MessageReader, { conversation, head }: ChatPosition, setup: ModelSetup) {
  if (head === null) return { used: 0, messages: 0 }
  const [message] = await store.getMessages([head], { blobs: 'preview' })
  const messages = message!.depth + 1
  if (setup.host) return { used: 0, messages }
  try {
    const { fitted } = await setup.contextAt(store, conversation, head)
    return { used: fitted.tokens.total, messages }
  } catch (error) {
    if (!(error instanceof ContextLengthError)) throw error
    return { used: setup.limit(), messages }
  }
}
