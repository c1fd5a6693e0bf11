import type { Readable, Writable } from 'node:stream'
import { checkObject } from '../../core/check.ts'
import { errorText } from '../../core/error-text.ts'
import { type RecorderSource, systemRecorderSource } from '../../system/source.ts'
import { type AgentCommand, cannotStart } from '../process/agent-process.ts'
import { createAgentProcessSlot, defaultAnswerMs } from '../process/agent-process-slot.ts'
import type { HandOverSummaries } from '../seat/hand-over.ts'
import type { RecallCommand } from '../seat/recall-server.ts'
import { openTranscripts } from '../seat/transcript-file.ts'
import { LineTooLong } from '../wire/read-lines.ts'
import { invalidRequest } from '../wire/rpc-error.ts'
import { stdioConnection } from '../wire/stdio.ts'
import type { WireLine } from '../wire/wire-line.ts'
import { type AgentLine, createAgentLineHandler } from './agent-lines.ts'
import { createAgentRequestIds } from './agent-request-ids.ts'
import { createClientLineHandler } from './client-lines.ts'
import { createPermissionLog } from './permission-log.ts'
import {
  createPendingReplies,
  type ProxyContext,
  type ProxyLimits,
  type ProxyStore,
} from './proxy-context.ts'
import { createProxySessions } from './proxy-sessions.ts'
import { errorLine } from './reply-lines.ts'
import { createTerminalLog } from './terminal-log.ts'

/** The two sides of a proxy, and where the conversations are stored. */
export interface ProxyOptions {
  /** Stays open: the proxy does not close it. */
  readonly store: ProxyStore
  /** The agent's command. */
  readonly command: AgentCommand
  /** The name under which links to its sessions are stored. */
  readonly name: string
  /** Lines of the client, such as an editor, are read from here. */
  readonly input: Readable
  /** Lines for the client are written here. */
  readonly output: Writable
  /** Most tokens to inject into a session that does not know the conversation. Default: 24,000. */
  readonly tell?: number
  /** Summaries for the next agent of a conversation. Default: none, because each one costs a model call. */
  readonly summaries?: HandOverSummaries
  /** The command of `skein mcp` on the same store, without a conversation. An agent that has to be told a
   *  conversation gets it as an MCP server that reads this conversation only. Default: none. */
  readonly recall?: RecallCommand
  /** Identifies the store. If the agent is ours and has the same one, lines are only relayed. */
  readonly storeId?: string
  /** Replaces single limits. */
  readonly limits?: Partial<ProxyLimits>
  /** Clock, ids and timers. Default: those of the system. */
  readonly source?: RecorderSource
  /** Writes a line to the editor's log. */
  log(text: string): void
  /** Receives the agent's stderr. */
  onStderr?(text: string): void
}

/** A running proxy. */
export interface AcpProxy {
  /** The exit code, once the client has gone and everything is stored: 0, or 1 if the agent could not be
   *  started. */
  readonly done: Promise<number>
  /** Ends the agent, stores what has arrived, and resolves `done`. */
  close(): void
}

/** Most unsent bytes on one side before reading from the other side pauses. */
const mostUnsent = 4 * 1_024 * 1_024

/** Most unsent bytes of a replay. Its lines would be in memory several times until the client takes them: as
 *  text, as bytes, and as garbage in the old generation of the heap. */
const mostReplayed = 256 * 1_024

/** Relays between a client and an agent. Lines pass byte for byte, except for session ids that differ. The
 *  proxy records the conversation and adds what the agent lacks: list, load, resume, fork, memory, and a
 *  restart after its process has ended. */
export function startProxy(options: ProxyOptions): AcpProxy {
  checkObject(options, 'options')
  const { store, name, log, source = systemRecorderSource } = options
  const limits: ProxyLimits = { answerMs: defaultAnswerMs, cancelMs: 10_000, ...options.limits }
  const sessions = createProxySessions()
  const replies = createPendingReplies()
  const requestIds = createAgentRequestIds()
  const permissions = createPermissionLog()
  const terminals = createTerminalLog()
  let isStoreAway = false
  let isRelayOnly = false
  const done = Promise.withResolvers<number>()
  let leaving = false
  /** Resolves when the client has taken all lines. Null if no replay waits for that. */
  let drained: PromiseWithResolvers<void> | null = null

  const client = stdioConnection(options.input, options.output, {
    onLine: line => clientSaid(line),
    onEnd(reason) {
      if (reason instanceof LineTooLong) refuseLine(reason)
      void leave(reason instanceof LineTooLong ? 1 : 0)
    },
    onDrain: () => {
      slot.resume()
      drained?.resolve()
      drained = null
    },
  })
  const slot = createAgentProcessSlot({
    command: options.command,
    answerMs: limits.answerMs,
    onLine: (line, generation) => agentSaid({ line, generation }),
    onEnd: onAgentEnd,
    onDrain: () => client.resume(),
    onStderr: text => options.onStderr?.(text),
  })
  const context: ProxyContext = {
    store,
    source,
    limits,
    name,
    telling: {
      ...(options.tell === undefined ? {} : { tell: options.tell }),
      ...(options.summaries && { summaries: options.summaries }),
      ...(options.recall && { recall: options.recall }),
      transcripts: openTranscripts({ store, directory: options.command.cwd ?? process.cwd() }),
    },
    slot,
    replies,
    adoptions: new Map(),
    sessions: {
      ...sessions,
      link(sessionId, session) {
        sessions.link(sessionId, session)
        fromAgent.settle()
      },
    },
    toClient(line) {
      client.send(line)
      if (client.unsent > mostUnsent) slot.pause()
    },
    async clientIsReady() {
      if (client.unsent <= mostReplayed) return
      drained ??= Promise.withResolvers()
      await drained.promise
    },
    toAgent(line) {
      slot.send(line)
      if (slot.unsent > mostUnsent) client.pause()
    },
    log,
    storeIsAway(error) {
      if (!isStoreAway) log(`storage: away: ${errorText(error)}. What is said is stored when it is back`)
      isStoreAway = true
    },
    storeIsBack() {
      if (isStoreAway) log('storage: back: what was said meanwhile is stored')
      isStoreAway = false
    },
    storeId: options.storeId ?? null,
    relayOnly() {
      log('the agent has the same store: it stores the conversations itself')
      isRelayOnly = true
    },
    giveUp: () => void leave(1),
  }
  const fromClient = createClientLineHandler(context)
  const fromAgent = createAgentLineHandler(context, requestIds, permissions, terminals)
  const agentSaid = inOrder(
    (received: AgentLine) =>
      isRelayOnly ? context.toClient(received.line.bytes) : fromAgent.handle(received),
    (error: unknown) => log(String(error)),
  )

  function clientSaid(line: WireLine): void {
    try {
      if (isRelayOnly) context.toAgent(line.bytes)
      else if (line.message?.method !== undefined) fromClient(line)
      else clientAnswered(line)
    } catch (error) {
      log(`not handled: ${errorText(error)}`)
    }
  }

  /** What follows a line that is too long cannot be read either: the client is told, and the proxy exits. */
  function refuseLine({ message }: LineTooLong): void {
    log(`the editor: ${message}`)
    client.send(errorLine(null, { code: invalidRequest, message: `the line is too long: ${message}` }))
  }

  /** The client's answer to a request of the agent. Dropped if that process has ended. */
  function clientAnswered(line: WireLine): void {
    const bytes = requestIds.incoming(line, slot.generation)
    if (bytes) context.toAgent(bytes)
    const asked = permissions.answered(line)
    asked?.session.seat.trace({ type: 'permission', data: asked.data })
    const shown = terminals.answered(line)
    shown?.session.seat.hear({ type: 'terminal', change: shown.change })
  }

  /** The process has ended: open requests are answered, and the next prompt starts a new process. */
  function onAgentEnd(): void {
    fromAgent.forget()
    sessions.unlinkAll()
    for (const session of sessions.all()) session.seat.vacate()
    for (const pending of replies.takeAll()) pending.onDeath()
    if (!leaving) log(slot.exitMessage)
  }

  async function leave(code = 0): Promise<void> {
    if (leaving) return
    leaving = true
    for (const { prompts } of sessions.all())
      for (const { abort } of prompts) abort.abort(new DOMException('gone', 'AbortError'))
    // A living agent may summarize its sessions; then the rest is stored.
    await Promise.allSettled(sessions.all().map(({ seat }) => seat.close()))
    const end = await slot.end()
    await Promise.allSettled(sessions.all().map(({ seat }) => seat.idle()))
    const unstored = sessions.all().reduce((sum, { seat }) => sum + seat.unstored, 0)
    if (unstored > 0) log(`storage: lost: ${unstored} turns, because the store is still away`)
    // A client that is being read would keep the process alive.
    client.pause()
    client.close()
    const neverThere = !slot.isIntroduced && end?.code === cannotStart
    done.resolve(neverThere ? 1 : code)
  }

  slot.launch()
  return { done: done.promise, close: () => void leave() }
}

/** Handles items one after the other. An item is handled synchronously if nothing is ahead of it, so that the
 *  lines of a process are handled before its end is reported; a queue of promises (createSerialQueue) would
 *  delay each one. A failure is reported, and does not stop the queue. */
export function inOrder<T>(
  handle: (thing: T) => void | Promise<void>,
  onFailure: (error: unknown) => void,
): (thing: T) => void {
  const waiting: T[] = []
  let busy = false

  /** The rest of the work on an item, if it is not done yet. */
  function begin(thing: T): void | Promise<void> {
    try {
      return handle(thing)
    } catch (error) {
      onFailure(error)
    }
  }

  async function drain(first: Promise<void>): Promise<void> {
    busy = true
    for (let under: void | Promise<void> = first; ; under = begin(waiting.shift()!)) {
      try {
        await under
      } catch (error) {
        onFailure(error)
      }
      if (waiting.length === 0) break
    }
    busy = false
  }

  return thing => {
    if (busy) {
      waiting.push(thing)
      return
    }
    const under = begin(thing)
    if (under) void drain(under)
  }
}
