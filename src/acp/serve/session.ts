import type {
  AgentContext,
  ContentBlock,
  McpServer,
  PromptResponse,
  SessionUpdate,
} from '@agentclientprotocol/sdk/unstable'
import { type Agent, createAgent } from '../../agent/agent.ts'
import type { AgentEvent } from '../../agent/run/events.ts'
import { windowOf } from '../../context/fit/model-windows.ts'
import type { BranchRef } from '../../core/branch.ts'
import { conversationId } from '../../core/ids.ts'
import { wordsOf } from '../transcript/prompt-words.ts'
import { askFirst } from './ask-first.ts'
import { editorFiles, type FileAbilities } from './editor-files.ts'
import { openGivenServers } from './mcp-servers.ts'
import { type Mode, type Settings, settingsShown } from './modes.ts'
import { createPermissions } from './permission.ts'
import { badParams } from './refusal.ts'
import { createRunUpdates } from './run-updates.ts'
import type { Served } from './served.ts'
import { takePrompt } from './take-prompt.ts'

/** A session that a client has open: a branch, and an agent that answers on it. */
export interface Session {
  readonly id: string
  /** Null as long as nothing has been said: then it is in no list, and gone when it is closed. */
  readonly branch: BranchRef | null
  readonly settings: Settings
  /** The settings as they stand in the answers to `session/new` and its like. */
  shown(): ReturnType<typeof settingsShown>
  setMode(mode: Mode): void
  /** Throws if it is none of those that are offered. */
  setModel(model: string): Promise<void>
  tell(update: SessionUpdate): Promise<void>
  /** Takes what a person says. Prompts are taken one at a time, in the order they came. */
  prompt(prompt: readonly ContentBlock[], signal: AbortSignal): Promise<PromptResponse>
  /** Stops the prompt that is being answered, and those that wait. */
  cancel(): void
  /** Does something between two prompts. */
  between<T>(work: () => Promise<T>): Promise<T>
  /** Stops what runs, keeps what was said, and frees what the session holds. */
  end(): Promise<void>
}

export interface Opening {
  readonly id: string
  readonly cwd: string
  readonly branch: BranchRef | null
  readonly settings: Settings
  readonly mcpServers: readonly McpServer[]
  readonly client: Pick<AgentContext, 'request' | 'notify'>
  /** What the client lets us do with its files. */
  readonly files: FileAbilities
  newId(): string
}

export function openSession(served: Served, opening: Opening): Session {
  const { store, models, log } = served
  const { id, cwd, client, newId } = opening
  const ending = new AbortController()
  const given = openGivenServers(opening.mcpServers, cwd, { log, signal: ending.signal })
  const stops = new Set<AbortController>()
  const calls = createCalls()
  let { settings, branch } = opening
  let speaking: { readonly model: string; readonly agent: Promise<Agent> } | null = null
  let lane: Promise<unknown> = Promise.resolve()

  const tell = (update: SessionUpdate) => client.notify('session/update', { sessionId: id, update })

  const permissions = createPermissions({
    sessionId: id,
    store,
    client,
    isAuto: () => settings.mode === 'auto',
    shown: callId => calls.of(callId).promise,
    started: toolCallId => tell({ sessionUpdate: 'tool_call_update', toolCallId, status: 'in_progress' }),
    log,
  })

  function between<T>(work: () => Promise<T>): Promise<T> {
    const mine = lane.then(work)
    lane = mine.catch(() => undefined)
    return mine
  }

  /** The agent of the model that is chosen now. */
  async function agentNow(): Promise<Agent> {
    const { model } = settings
    if (speaking?.model !== model) {
      await closeAgent()
      speaking = { model, agent: agentOf(model) }
    }
    try {
      return await speaking.agent
    } catch (error) {
      // What is missing may be there the next time.
      speaking = null
      throw error
    }
  }

  async function agentOf(model: string): Promise<Agent> {
    const { tools = {}, ...parts } = await served.speaking(model)
    const files = editorFiles({ client, sessionId: id, cwd, can: opening.files })
    const all = { ...files, ...tools, ...(await given)?.tools }
    return createAgent({ ...parts, store, tools: askFirst(all, permissions.may) })
  }

  async function closeAgent(): Promise<void> {
    const agent = await speaking?.agent.catch(() => null)
    speaking = null
    // A message that waits for the store stays queued: changing the model need not wait for it.
    await agent?.close({ withinMs: 0 })
  }

  /** Whoever opens a session and says nothing leaves nothing behind: it is made with the first words. */
  async function place(): Promise<BranchRef> {
    if (branch === null) {
      const wanted = { id: conversationId(id), directory: cwd, channel: 'acp', model: settings.model }
      branch = (await store.create(wanted)).branch
    }
    return branch
  }

  async function answer(prompt: readonly ContentBlock[], signal: AbortSignal): Promise<PromptResponse> {
    if (signal.aborted) return { stopReason: 'cancelled' }
    const words = wordsOf(prompt)
    const agent = await agentNow()
    const window = windowOf(settings.model).limit
    const updates = createRunUpdates({ newId, isAllowed: permissions.isAllowed, window })
    calls.forget()
    return takePrompt({ agent, branch: await place(), words, signal, updates, store, tell, onShown, log })
  }

  function onShown(event: AgentEvent): void {
    if (event.type === 'tool_started') calls.of(event.callId).resolve()
    if (event.type === 'trouble') log(`the store: ${event.trouble.kind}: ${String(event.trouble.error)}`)
  }

  function cancel(): void {
    for (const stop of stops) stop.abort(new DOMException('cancelled', 'AbortError'))
  }

  return {
    id,
    get branch() {
      return branch
    },
    get settings() {
      return settings
    },
    shown: () => settingsShown(settings, models),
    setMode(mode) {
      settings = { ...settings, mode }
    },
    async setModel(model) {
      if (!models.some(one => one.id === model)) throw badParams(`there is no model ${model} to choose`)
      settings = { ...settings, model }
      if (branch) await store.updateConversation(branch.conversationId, { model })
    },
    tell,
    async prompt(prompt, signal) {
      const stop = new AbortController()
      stops.add(stop)
      try {
        return await between(() => answer(prompt, AbortSignal.any([stop.signal, signal])))
      } finally {
        stops.delete(stop)
      }
    },
    cancel,
    between,
    async end() {
      ending.abort()
      cancel()
      await closeAgent()
      await lane
      await (await given)?.close()
    },
  }
}

/** The calls of a turn that the client has been shown: a question about one that it has not would come from
 *  nowhere. */
function createCalls() {
  const calls = new Map<string, PromiseWithResolvers<void>>()
  return {
    of(callId: string): PromiseWithResolvers<void> {
      const call = calls.get(callId) ?? Promise.withResolvers<void>()
      calls.set(callId, call)
      return call
    },
    forget: () => calls.clear(),
  }
}
