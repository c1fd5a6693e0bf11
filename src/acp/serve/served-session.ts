import type {
  AgentContext,
  McpServer as ClientMcpServer,
  ContentBlock,
  PromptResponse,
  SessionUpdate,
} from '@agentclientprotocol/sdk/unstable'
import { type Agent, createAgent } from '../../agent/agent.ts'
import { codingToolsOn } from '../../agent/coding/coding-tools.ts'
import { type McpServer, type McpTools, openMcpTools } from '../../agent/mcp/open-mcp-tools.ts'
import type { AgentEvent } from '../../agent/run/events.ts'
import type { BranchRef } from '../../core/branch.ts'
import { conversationId } from '../../core/ids.ts'
import { createSerialQueue } from '../../core/wait.ts'
import { messageFromPrompt, titleAfterHistory } from '../transcript/message-from-prompt.ts'
import { answerPrompt } from './answer-prompt.ts'
import { type ClientServices, editorWorkspace } from './editor-workspace.ts'
import { permissionRequests, sessionApprovals } from './permission-requests.ts'
import { invalidParamsError } from './request-error.ts'
import { createRunUpdates } from './run-updates.ts'
import type { ServeOptions } from './serve-options.ts'
import { commandIn, runSessionCommand, type SessionCommand, sessionCommands } from './session-commands.ts'
import { type SessionMode, type SessionSettings, settingsForClient } from './session-settings.ts'

/** An open session of a client: a branch, and an agent that answers on it. */
export interface ServedSession {
  readonly id: string
  /** Null before the first prompt: the session is not listed, and gone when it is closed. */
  readonly branch: BranchRef | null
  readonly settings: SessionSettings
  /** The settings, as answers to `session/new` and similar requests contain them. */
  shown(): ReturnType<typeof settingsForClient>
  setMode(mode: SessionMode): void
  /** Throws for a model that is not offered. */
  setModel(model: string): Promise<void>
  notify(update: SessionUpdate): Promise<void>
  /** Tells the client which slash commands there are. */
  offerCommands(): Promise<void>
  /** Answers a prompt. One at a time, in the order of the calls. */
  prompt(prompt: readonly ContentBlock[], signal: AbortSignal): Promise<PromptResponse>
  /** Cancels the current prompt, and those that wait. */
  cancel(): void
  /** Runs a task between two prompts. */
  between<T>(work: () => Promise<T>): Promise<T>
  /** Stops the current turn, stores what has arrived, and frees all resources. */
  end(): Promise<void>
}

export interface SessionSetup {
  readonly id: string
  readonly cwd: string
  readonly branch: BranchRef | null
  readonly settings: SessionSettings
  readonly mcpServers: readonly ClientMcpServer[]
  readonly client: Pick<AgentContext, 'request' | 'notify'>
  /** Further directories of the project. */
  readonly additionalDirectories: readonly string[]
  /** What the client does for us. */
  readonly services: ClientServices
  newId(): string
}

export function createServedSession(served: ServeOptions, setup: SessionSetup): ServedSession {
  const { store, models, log } = served
  const { id, cwd, client, newId } = setup
  const ending = new AbortController()
  const given = openClientMcpServers(setup.mcpServers, cwd, { log, signal: ending.signal })
  const stops = new Set<AbortController>()
  const calls = createCalls()
  let { settings, branch } = setup
  let current: { readonly model: string; readonly agent: Promise<Agent> } | null = null
  const between = createSerialQueue()

  const notify = (update: SessionUpdate) => client.notify('session/update', { sessionId: id, update })

  /** The terminals of the client, by the calls that run in them. */
  const terminals = new Map<string, string>()
  const workspace = editorWorkspace({
    client,
    sessionId: id,
    directories: [cwd, ...setup.additionalDirectories],
    can: setup.services,
    async showTerminal(toolCallId, terminalId) {
      terminals.set(toolCallId, terminalId)
      const content = [{ type: 'terminal', terminalId }] as const
      await notify({ sessionUpdate: 'tool_call_update', toolCallId, content: [...content] })
    },
  })
  const mode = () => settings.mode
  const approvals = sessionApprovals(mode)
  const approve = permissionRequests({
    sessionId: id,
    client,
    mode,
    shown: callId => calls.of(callId).promise,
  })

  /** The agent with the chosen model. */
  async function agentNow(): Promise<Agent> {
    const { model } = settings
    if (current?.model !== model) {
      await closeAgent()
      current = { model, agent: agentOf(model) }
    }
    try {
      return await current.agent
    } catch (error) {
      // The missing part may be there the next time.
      current = null
      throw error
    }
  }

  async function agentOf(model: string): Promise<Agent> {
    const { tools = {}, ...parts } = await served.agentParts(model)
    const all = { ...codingToolsOn(workspace), ...tools, ...(await given)?.tools }
    return createAgent({ ...parts, store, tools: all, approve, approvals })
  }

  async function closeAgent(): Promise<void> {
    const agent = await current?.agent.catch(() => null)
    current = null
    // A message that waits for the store stays queued: changing the model need not wait for it.
    await agent?.close({ withinMs: 0 })
  }

  /** Created with the first prompt, so a session without prompts leaves nothing in the store. */
  async function place(prompt: readonly ContentBlock[]): Promise<BranchRef> {
    if (branch === null) {
      const title = titleAfterHistory(prompt)
      const wanted = {
        id: conversationId(id),
        directory: cwd,
        channel: 'acp',
        model: settings.model,
        ...(title !== null && { title }),
      }
      branch = (await store.create(wanted)).branch
    }
    return branch
  }

  async function answer(prompt: readonly ContentBlock[], signal: AbortSignal): Promise<PromptResponse> {
    if (signal.aborted) return { stopReason: 'cancelled' }
    const command = commandIn(prompt)
    if (command) return runCommand(command, signal)
    const words = messageFromPrompt(prompt)
    const agent = await agentNow()
    const updates = createRunUpdates({ newId, hasTerminal: callId => terminals.has(callId) })
    calls.forget()
    return answerPrompt({
      agent,
      branch: await place(prompt),
      words,
      signal,
      updates,
      store,
      notify,
      onShown,
      log,
    })
  }

  /** Answers a slash command. Its prompt and its answer are not stored. */
  async function runCommand(command: SessionCommand, signal: AbortSignal): Promise<PromptResponse> {
    const text = await runSessionCommand(command, {
      ...{ store, branch, cwd, models, signal, newId, setModel },
      model: settings.model,
      parts: () => served.agentParts(settings.model),
    }).catch(error => {
      if (signal.aborted) return null
      throw error
    })
    if (text === null) return { stopReason: 'cancelled' }
    await notify({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } })
    if (command.name === 'model')
      await notify({
        sessionUpdate: 'config_option_update',
        configOptions: settingsForClient(settings, models).configOptions,
      })
    return { stopReason: signal.aborted ? 'cancelled' : 'end_turn' }
  }

  async function setModel(model: string): Promise<void> {
    if (!models.some(one => one.id === model))
      throw invalidParamsError(`there is no model ${model} to choose`)
    settings = { ...settings, model }
    if (branch) await store.updateConversation(branch.conversationId, { model })
  }

  function onShown(event: AgentEvent): void {
    if (event.type === 'subagent') onShown(event.event)
    if (event.type === 'asking' && event.request) calls.of(event.request.callId).resolve()
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
    shown: () => settingsForClient(settings, models),
    setMode(mode) {
      settings = { ...settings, mode }
    },
    setModel,
    notify,
    offerCommands: () =>
      notify({ sessionUpdate: 'available_commands_update', availableCommands: [...sessionCommands] }),
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
      await between(async () => undefined)
      await (await given)?.close()
    },
  }
}

/** The calls of a turn that the client knows: a permission request for an unknown call would confuse it. */
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

/** Opens the MCP servers that a client passes with a session; null without any. A server that cannot be
 *  started is logged, and the session continues without it. */
async function openClientMcpServers(
  given: readonly ClientMcpServer[],
  cwd: string,
  { log, signal }: { log(line: string): void; readonly signal: AbortSignal },
): Promise<McpTools | null> {
  const servers: Record<string, McpServer> = {}
  for (const one of given) {
    const server = serverOf(one, cwd)
    if (server) servers[one.name] = server
    else
      log(
        `the MCP server ${one.name} is of a kind that was not offered (${'type' in one ? one.type : 'unknown'})`,
      )
  }
  if (Object.keys(servers).length === 0) return null
  // An aborted start has ended the servers that it had started.
  return openMcpTools(servers, { signal, onProblem: ({ error }) => log(error.message) }).catch(() => null)
}

function serverOf(given: ClientMcpServer, cwd: string): McpServer | null {
  if ('command' in given) {
    const { command, args, env } = given
    return { command, args, env: Object.fromEntries(env.map(({ name, value }) => [name, value])), cwd }
  }
  if (given.type !== 'http') return null
  return {
    url: given.url,
    headers: Object.fromEntries(given.headers.map(({ name, value }) => [name, value])),
  }
}
