import type { Readable, Writable } from 'node:stream'
import { type RecorderSource, systemRecorderSource } from '../../system/source.ts'
import { type AgentCommand, cannotStart, type StartAgent } from '../process/agent-process.ts'
import { createAgentProcessSlot } from '../process/agent-process-slot.ts'
import { stdioConnection } from '../wire/stdio.ts'
import type { WireLine } from '../wire/wire-line.ts'
import { createAgentLineHandler } from './agent-lines.ts'
import { createAgentRequestIds } from './agent-request-ids.ts'
import { createClientLineHandler } from './client-lines.ts'
import { inOrder } from './in-order.ts'
import { createPermissionLog } from './permission-log.ts'
import { createPendingReplies, type ProxyContext, type ProxyStore } from './proxy-context.ts'
import { createProxySessions } from './proxy-sessions.ts'

export interface ProxyOptions {
  readonly store: ProxyStore
  /** The agent, as it is typed. */
  readonly command: AgentCommand
  /** What its links are kept under. */
  readonly name: string
  /** The client: an editor's pipes. */
  readonly input: Readable
  readonly output: Writable
  readonly source?: RecorderSource
  readonly start?: StartAgent
  /** A line for whoever looks into the editor's log. */
  log(text: string): void
  /** What the agent writes to its stderr. */
  onStderr?(text: string): void
}

export interface AcpProxy {
  /** The exit code, when the client has gone and everything is kept; 1 if the agent could not be started. */
  readonly done: Promise<number>
  close(): void
}

/** More than this waiting for a reader, and nothing more is read from the other side. */
const mostUnsent = 4 * 1_024 * 1_024

/** Sits between a client and an agent. Lines go through byte for byte, unless a session id has to be another
 *  one; what is said is kept; and what the agent lacks or forgets (list, load, resume, fork, its memory, its
 *  life) is made up for. */
export function startProxy(options: ProxyOptions): AcpProxy {
  const { store, name, log, source = systemRecorderSource } = options
  const sessions = createProxySessions()
  const replies = createPendingReplies()
  const requestIds = createAgentRequestIds()
  const permissions = createPermissionLog()
  const done = Promise.withResolvers<number>()
  let leaving = false

  const client = stdioConnection(options.input, options.output, {
    onLine: line => clientSaid(line),
    onEnd: () => void leave(),
    onDrain: () => slot.resume(),
  })
  const slot = createAgentProcessSlot({
    command: options.command,
    ...(options.start ? { start: options.start } : {}),
    onLine: (line, generation) => agentSaid({ line, generation }),
    onEnd: onAgentEnd,
    onDrain: () => client.resume(),
    onStderr: text => options.onStderr?.(text),
  })
  const context: ProxyContext = {
    store,
    source,
    name,
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
    toAgent(line) {
      slot.send(line)
      if (slot.unsent > mostUnsent) client.pause()
    },
    log,
    giveUp: () => void leave(1),
  }
  const fromClient = createClientLineHandler(context)
  const fromAgent = createAgentLineHandler(context, requestIds, permissions)
  const agentSaid = inOrder(fromAgent.see, error => log(String(error)))

  function clientSaid(line: WireLine): void {
    if (line.message?.method !== undefined) fromClient(line)
    else clientAnswered(line)
  }

  /** An answer to what the agent has asked; of one that is dead by now, nobody wants it. */
  function clientAnswered(line: WireLine): void {
    const bytes = requestIds.incoming(line, slot.generation)
    const asked = permissions.answered(line)
    asked?.session.seat.trace({ type: 'permission', data: asked.data })
    if (bytes) context.toAgent(bytes)
  }

  /** The agent's process has ended. What it had said is kept, whoever waits is answered, and the next prompt
   *  starts it again. */
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
    const end = await slot.end()
    await Promise.allSettled(sessions.all().map(({ seat }) => seat.idle()))
    // A client that is still read would keep the process alive.
    client.pause()
    client.close()
    const neverThere = !slot.isIntroduced && end?.code === cannotStart
    done.resolve(neverThere ? 1 : code)
  }

  slot.launch()
  return { done: done.promise, close: () => void leave() }
}
