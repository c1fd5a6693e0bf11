import type { Block } from '../../core/block.ts'
import type { BranchRef } from '../../core/branch.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { isNonEmpty, type NewMessage } from '../../core/message.ts'
import { takeOver } from '../../recorder/take-over.ts'
import { openReplay, type ReplayWindow } from '../seat/replay-window.ts'
import { terminalKeyOf } from '../transcript/call-update.ts'
import { createFold, type FoldEffect } from '../transcript/fold.ts'
import type { Heard } from '../transcript/heard.ts'
import { replayPath } from '../transcript/replay-updates.ts'
import { isObject } from '../wire/is-object.ts'
import { allowsFallback } from '../wire/rpc-error.ts'
import type { WireLine } from '../wire/wire-line.ts'
import { isDeletedHere } from './client-requests.ts'
import { createProxySession, findProxySession } from './create-session.ts'
import type { ProxyContext, ProxyStore } from './proxy-context.ts'
import type { ProxySession } from './proxy-sessions.ts'
import { errorLine, resultLine, rpcFailure, unknownSessionLine, updateLine } from './reply-lines.ts'

/** `session/load` and `session/resume`: the client gets the transcript from the store, and the agent is given
 *  its memory. The agent's own replay is not relayed: it would be a second transcript, with injected text as
 *  the user's. */
export async function reopenSession(context: ProxyContext, line: WireLine): Promise<void> {
  const { id, method, params } = line.message as { id: string | number; method: string; params: JsonObject }
  const sessionId = String(params.sessionId)
  try {
    const session = await findProxySession(context, sessionId, params)
    if (!session) return await adoptSession(context, line)
    const ref = await session.branch()
    // A part of an answer that an earlier process received is shown, too.
    await takeOver(context.store, ref.conversationId, ref.name, context.source)
    // The agent opens its session meanwhile: some take seconds.
    const opened = openAgentSession(session)
    opened.catch(() => undefined)
    if (method === 'session/load') await replay(context, sessionId, ref)
    await opened
    context.toClient(resultLine(id, session.shown))
  } catch (error) {
    context.toClient(errorLine(id, rpcFailure(error)))
  }
}

/** Opens a session of the agent, if there is none, and keeps its modes and options. */
async function openAgentSession(session: ProxySession): Promise<void> {
  if (session.seat.sessionId !== null) return
  const { sessionId: _, ...shown } = await session.seat.sit()
  session.shown = shown
}

/** Sends all messages, in order, before the answer. Reads on as the client takes them. */
async function replay(context: ProxyContext, sessionId: string, ref: BranchRef): Promise<void> {
  const { store, slot, toClient, clientIsReady } = context
  const terminalKey = terminalKeyOf(slot.clientCapabilities)
  const { head } = await store.getBranch(ref)
  if (head === null) return
  for await (const update of replayPath(store, head, terminalKey)) {
    toClient(updateLine(sessionId, update))
    await clientIsReady()
  }
  const plan = await lastPlan(store, ref)
  if (plan) toClient(updateLine(sessionId, { sessionUpdate: 'plan', entries: plan }))
}

/** The newest plan of a conversation. Null if it has several branches: a plan belongs to one of them. */
async function lastPlan(store: ProxyStore, { conversationId }: BranchRef): Promise<Json | null> {
  const [branches, plans] = await Promise.all([
    store.listBranches(conversationId, { limit: 2 }),
    store.listEvents(conversationId, { types: ['plan'], order: 'descending', limit: 1 }),
  ])
  const entries = plans.items[0]?.data.entries
  return branches.items.length === 1 && Array.isArray(entries) ? entries : null
}

/** A session that only the agent may know. The client's request is relayed, the client gets the agent's own
 *  replay, and the replay is stored. */
async function adoptSession(context: ProxyContext, line: WireLine): Promise<void> {
  const { id, method, params } = line.message as { id: string | number; method: string; params: JsonObject }
  const sessionId = String(params.sessionId)
  const { capabilities } = await context.slot.ready()
  if (method === 'session/resume' && capabilities.load) {
    const adopted = await adoptSilently(context, sessionId, params)
    context.toClient(adopted ? resultLine(id, adopted.shown) : unknownSessionLine(id, sessionId))
    return
  }
  const canOpen = method === 'session/load' ? capabilities.load : capabilities.resume
  if (!canOpen || (await isDeletedHere(context, sessionId))) {
    context.toClient(unknownSessionLine(id, sessionId))
    return
  }
  const window = openReplay(context.source)
  const knows = Promise.withResolvers<boolean>()
  let answer: unknown = null
  context.replies.expect(id, {
    onAnswer(reply) {
      context.toClient(reply.bytes)
      answer = reply.message!.result
      window.answered()
      knows.resolve(reply.message!.error === undefined)
    },
    onDeath() {
      context.toClient(unknownSessionLine(id, sessionId))
      knows.resolve(false)
    },
  })
  const done = (async () => {
    if (!(await knows.promise)) return null
    const session = await keep(context, sessionId, params, window)
    if (isObject(answer)) session.shown = answer
    return session
  })()
  context.adoptions.set(sessionId, { window, isSilent: false, done })
  context.toAgent(line.bytes)
  try {
    await done
  } finally {
    context.adoptions.delete(sessionId)
  }
}

/** Copies a session that only the agent knows to the store, without showing it. Null if the agent cannot load
 *  it, or if it was deleted here. */
export async function adoptSilently(
  context: ProxyContext,
  sessionId: string,
  params: JsonObject,
): Promise<ProxySession | null> {
  const agent = await context.slot.ready()
  if (!agent.capabilities.load || (await isDeletedHere(context, sessionId))) return null
  const window = openReplay(context.source)
  const done = (async () => {
    try {
      const answer = await agent.request('session/load', { mcpServers: [], ...params, sessionId })
      window.answered()
      const session = await keep(context, sessionId, params, window)
      if (isObject(answer)) session.shown = answer
      return session
    } catch (error) {
      if (!allowsFallback(error)) throw error
      return null
    } finally {
      context.adoptions.delete(sessionId)
    }
  })()
  context.adoptions.set(sessionId, { window, isSilent: true, done })
  return done
}

async function keep(
  context: ProxyContext,
  foreignId: string,
  { sessionId: _, ...params }: JsonObject,
  window: ReplayWindow,
): Promise<ProxySession> {
  const { store, name, sessions } = context
  const messages = messagesFromReplay(await window.whole())
  const session = createProxySession(context, foreignId, params, null)
  sessions.link(foreignId, session)
  if (!isNonEmpty(messages)) {
    session.seat.begun(foreignId)
    return session
  }
  const branch = await session.branch()
  const { head } = await store.append(branch, null, messages)
  await store.setAgentLink(branch, { agent: name, directory: session.directory, foreignId, seen: head })
  session.seat.begun(foreignId, head)
  return session
}

/** The messages of a whole replay, turn by turn: for a session that only the agent has stored. */
function messagesFromReplay(heard: readonly Heard[]): readonly NewMessage[] {
  const messages: NewMessage[] = []
  let said: Block[] = []
  let fold = createFold()
  const keep = (effects: readonly FoldEffect[]) => {
    for (const effect of effects) if (effect.type === 'message') messages.push(effect.message)
  }
  const endWords = () => {
    if (said.length > 0) messages.push({ role: 'user', content: said })
    said = []
  }
  for (const one of heard) {
    if (one.type === 'user') {
      if (said.length === 0) {
        keep(fold.end())
        fold = createFold()
      }
      said = joined(said, one.block)
    } else {
      endWords()
      keep(fold.hear(one))
    }
  }
  endWords()
  keep(fold.end())
  return messages
}

/** Chunks of text are one text. */
function joined(blocks: readonly Block[], block: Block): Block[] {
  const last = blocks.at(-1)
  if (last?.type !== 'text' || block.type !== 'text' || last.metadata || block.metadata)
    return [...blocks, block]
  return [...blocks.slice(0, -1), { type: 'text', text: `${last.text}${block.text}` }]
}
