import type { AgentLink, BranchRef } from '../../core/branch.ts'
import { errorText } from '../../core/error-text.ts'
import type { TraceEvent } from '../../core/event.ts'
import { type ConversationId, type MessageId, messageId } from '../../core/ids.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import type { Message } from '../../core/message.ts'
import { collectPages } from '../../core/pages.ts'
import type { MessageReader } from '../../core/ports.ts'
import type { RecorderSource } from '../../system/source.ts'
import type { FailedTier } from '../memory/memory-report.ts'
import type { SessionMemory, SystemHistory } from '../memory/plan-memory.ts'
import { messagesAfter, readNewest } from '../memory/read-history.ts'
import { type HistoryTelling, tellHistory } from '../memory/tell-history.ts'
import type { RunningAgent } from '../process/agent-process-slot.ts'
import { isObject } from '../wire/is-object.ts'
import { allowsFallback, RpcError } from '../wire/rpc-error.ts'
import { type RecallCommand, recallName, withRecall } from './recall-server.ts'
import { openReplay, type ReplayWindow } from './replay-window.ts'
import type { SeatStore } from './seat-prompt.ts'

/** A session that an agent has opened on a branch, and what is known of its memory. */
export interface SeatSession extends SessionMemory {
  readonly sessionId: string
  /** The agent's answer: its modes and options. */
  readonly answer: JsonObject
  readonly replay: ReplayWindow
}

export interface TakeSeatOptions {
  readonly store: SeatStore
  readonly branch: BranchRef
  /** The newest message that the agent has to have. */
  readonly head: MessageId | null
  /** The name under which links to the agent's sessions are stored. */
  readonly name: string
  readonly directory: string
  /** The parameters of `session/new`: cwd, mcpServers and whatever else the client gave. */
  readonly params: JsonObject
  /** How the history is told. */
  readonly telling: HistoryTelling
  /** The command of `skein mcp`, for an agent that has to be told something. */
  readonly recall?: RecallCommand
  readonly source: RecorderSource
  /** True if the prompt brings its own history: then none is put into the system prompt of a new session. */
  readonly bringsHistory?: boolean
  /** How long the agent may be silent before it has answered. */
  readonly answerMs: number
  /** The agent has been silent for that long: its process must be ended. */
  onSilence?(method: string): void
  /** The running agent; started again if its process has ended. */
  agent(): Promise<RunningAgent>
  /** Called before each request that opens a session. The id is null if the agent has yet to create it. */
  listen(sessionId: string | null, replay: ReplayWindow): void
}

/** Opens a session on a branch: resumes the agent's own session, else loads it, else begins a new one. Uses
 *  only the link of this branch, and only if all messages that the session has seen are on the path (S4-27):
 *  a fork must not know messages of another branch. Any error leads to the next way, unless the person has to
 *  sign in or has cancelled. */
export async function takeSeat(options: TakeSeatOptions): Promise<SeatSession> {
  const failed: FailedTier[] = []
  const link = await linkOf(options)
  for (const tier of link ? tiersOf(await options.agent(), link.seen, options.head) : []) {
    try {
      return { ...(await reopen(tier, options, link!)), seen: link!.seen.id, failed }
    } catch (error) {
      if (!allowsFallback(error)) throw error
      failed.push(failureOf(tier, error))
    }
  }
  return { ...(await beginWithRecall(options)), failed }
}

interface SeenLink {
  readonly link: AgentLink
  /** The last message that the session has seen. */
  readonly seen: Message
}

/** The link of this branch, if the messages that its session has seen are on the path. */
async function linkOf(options: TakeSeatOptions): Promise<SeenLink | null> {
  const { store, branch, head, name, directory } = options
  const links = await collectPages(page => store.listAgentLinks(branch, page))
  const link = links.find(one => one.agent === name && one.directory === directory)
  if (!link?.seen || (await messagesAfter(store, link.seen, head)) === null) return null
  const [seen] = await store.getMessages([link.seen], { blobs: 'preview' })
  return { link, seen: seen! }
}

/** Resume comes before load. But if the last turn was cut off, or the path has messages that the agent is not
 *  known to have, load comes first: only a replay shows what the agent has. */
function tiersOf(
  { capabilities }: RunningAgent,
  seen: Message,
  head: MessageId | null,
): readonly FailedTier['tier'][] {
  const wasCutOff = seen.role === 'user' || seen.id !== head
  const tiers = wasCutOff ? (['load', 'resume'] as const) : (['resume', 'load'] as const)
  return tiers.filter(tier => capabilities[tier])
}

async function reopen(
  tier: FailedTier['tier'],
  options: TakeSeatOptions,
  { link: { foreignId }, seen }: SeenLink,
): Promise<Omit<SeatSession, 'failed' | 'seen'>> {
  const { store, branch, source } = options
  const agent = await options.agent()
  const upTo = agent.capabilities.systemPrompt
    ? await systemHistoryEnd(store, branch.conversationId, foreignId)
    : null
  // The text of an earlier prompt may name the server.
  const wantsRecall = seen.id !== options.head || (await hadRecall(options, foreignId))
  const opened = wantsRecall ? offerRecall(options) : options
  const { params, inSystem } = await withHistory(opened, upTo)
  const replay = openReplay(source)
  options.listen(foreignId, replay)
  const request = { ...params, sessionId: foreignId }
  const answer = await withSilenceLimit(options, replay, agent, `session/${tier}`, request)
  replay.answered()
  const { recall } = opened.telling
  return {
    sessionId: foreignId,
    answer: isObject(answer) ? answer : {},
    way: tier,
    replay,
    inSystem,
    ...(recall !== undefined && { recall }),
  }
}

/** The options of a request that gives the agent the MCP server, unless the client does. */
function offerRecall(options: TakeSeatOptions): TakeSeatOptions {
  const { recall, params: wanted, branch, telling } = options
  const params = recall ? withRecall(wanted, recall, branch.conversationId) : null
  return params ? { ...options, params, telling: { ...telling, recall: recallName } } : options
}

/** Whether a session was told something, and given the MCP server. */
async function hadRecall({ store, branch, recall }: TakeSeatOptions, sessionId: string): Promise<boolean> {
  if (!recall) return false
  const traces = await resumeTraces(store, branch.conversationId)
  return traces.some(({ data }) => data.session === sessionId && data.recall === recallName)
}

/** Begins a session. One that the agent refuses with the MCP server is begun without it. */
async function beginWithRecall(options: TakeSeatOptions): Promise<Omit<SeatSession, 'failed'>> {
  const hasToTell = options.head !== null && !options.bringsHistory
  const offered = hasToTell ? offerRecall(options) : options
  try {
    return await beginSession(offered)
  } catch (error) {
    if (offered === options || !(error instanceof RpcError) || !allowsFallback(error)) throw error
    return beginSession(options)
  }
}

async function beginSession(options: TakeSeatOptions): Promise<Omit<SeatSession, 'failed'>> {
  const agent = await options.agent()
  const inSystemPrompt = agent.capabilities.systemPrompt && !options.bringsHistory
  const { params, inSystem } = await withHistory(options, inSystemPrompt ? options.head : null)
  const replay = openReplay(options.source)
  options.listen(null, replay)
  const answer = await withSilenceLimit(options, replay, agent, 'session/new', params)
  replay.answered()
  if (!isObject(answer) || typeof answer.sessionId !== 'string')
    throw new Error('the agent began a session without an id')
  const { sessionId } = answer
  options.listen(sessionId, replay)
  const { recall } = options.telling
  const session = { sessionId, answer, way: 'new', replay, seen: null, inSystem } as const
  return recall === undefined ? session : { ...session, recall }
}

/** Sends a request. If the agent sends neither an answer nor updates for a while, its process is ended, and
 *  with it the request. A long replay may take as long as it needs. */
async function withSilenceLimit(
  { source, answerMs, onSilence }: TakeSeatOptions,
  replay: ReplayWindow,
  agent: RunningAgent,
  method: string,
  params: JsonObject,
): Promise<unknown> {
  let callOff = () => {}
  const watch = (count: number) => {
    const check = () => (replay.count === count ? onSilence?.(method) : watch(replay.count))
    callOff = source.after(answerMs, check, { idle: true })
  }
  watch(replay.count)
  try {
    return await agent.request(method, params)
  } finally {
    callOff()
  }
}

/** The parameters, with the history up to this message in the system prompt. */
async function withHistory(
  { store, params, telling }: TakeSeatOptions,
  upTo: MessageId | null,
): Promise<{ params: JsonObject; inSystem: SystemHistory | null }> {
  if (upTo === null) return { params, inSystem: null }
  const part = { ...(await readNewest(store, upTo)), head: upTo, isAll: true }
  const told = await tellHistory(store, part, telling)
  if (!told) return { params, inSystem: null }
  const systemPrompt = withSystemText(params.systemPrompt, told.text)
  return {
    params: { ...params, systemPrompt },
    inSystem: { upTo, messages: told.messages, untold: told.untold, transcript: told.transcript },
  }
}

/** The last message of the history in the system prompt of a session, or null. A replay does not contain the
 *  system prompt, and the protocol lets an agent drop it, so that it is sent again whenever the session is
 *  resumed or loaded. The trace of how the session began contains the message. */
async function systemHistoryEnd(
  store: Pick<MessageReader, 'listEvents'>,
  id: ConversationId,
  sessionId: string,
): Promise<MessageId | null> {
  const traces = await resumeTraces(store, id)
  const told = traces.find(({ data }) => data.session === sessionId && data.through === 'system')
  return typeof told?.data.upTo === 'string' ? messageId(told.data.upTo) : null
}

/** The newest traces of how agents got their memory, newest first. */
async function resumeTraces(
  store: Pick<MessageReader, 'listEvents'>,
  id: ConversationId,
): Promise<readonly TraceEvent[]> {
  return (await store.listEvents(id, { types: ['resume'], order: 'descending', limit: 200 })).items
}

/** The `systemPrompt` of a session: the client's own, followed by this text. */
function withSystemText(wanted: Json | undefined, text: string): JsonObject {
  const block = { type: 'text', text }
  if (!isObject(wanted) || !Array.isArray(wanted.content)) return { mode: 'append', content: [block] }
  return { ...wanted, content: [...wanted.content, block] }
}

function failureOf(tier: FailedTier['tier'], error: unknown): FailedTier {
  return {
    tier,
    code: error instanceof RpcError ? error.code : null,
    message: errorText(error),
  }
}
