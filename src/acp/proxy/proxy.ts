import type { Readable, Writable } from 'node:stream'
import { type RecorderSource, systemRecorderSource } from '../../system/source.ts'
import type { AgentCommand, StartAgent } from '../wire/agent-process.ts'
import { cannotStart } from '../wire/cannot-start.ts'
import type { Line } from '../wire/line.ts'
import { stdioConnection } from '../wire/stdio.ts'
import { createAgentSide } from './agent-side.ts'
import { createEntries } from './entry.ts'
import { createFromAgent } from './from-agent.ts'
import { createFromClient } from './from-client.ts'
import { inOrder } from './in-order.ts'
import { createOwnIds } from './own-ids.ts'
import { createPermissions } from './permissions.ts'
import { createAnswers, type Proxying, type ProxyStore } from './proxying.ts'

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
  onComplaint?(text: string): void
}

export interface Proxy {
  /** The exit code, when the client has gone and everything is kept; 1 if the agent could not be started. */
  readonly done: Promise<number>
  close(): void
}

/** More than this waiting for a reader, and nothing more is read from the other side. */
const mostUnsent = 4 * 1_024 * 1_024

/** Sits between a client and an agent. Lines go through byte for byte, unless a session id has to be another one; what is said is
 *  kept; and what the agent lacks or forgets (list, load, resume, fork, its memory, its life) is made up for. */
export function startProxy(options: ProxyOptions): Proxy {
  const { store, name, log, source = systemRecorderSource } = options
  const entries = createEntries()
  const answers = createAnswers()
  const ownIds = createOwnIds()
  const permissions = createPermissions()
  const done = Promise.withResolvers<number>()
  let leaving = false

  const client = stdioConnection(options.input, options.output, {
    onLine: line => clientSaid(line),
    onEnd: () => void leave(),
    onDrain: () => side.resume(),
  })
  const side = createAgentSide({
    command: options.command,
    ...(options.start ? { start: options.start } : {}),
    onLine: (line, generation) => agentSaid({ line, generation }),
    onEnd: onAgentEnd,
    onDrain: () => client.resume(),
    onComplaint: text => options.onComplaint?.(text),
  })
  const proxying: Proxying = {
    store,
    source,
    name,
    side,
    answers,
    adopting: new Map(),
    entries: {
      ...entries,
      link(sessionId, entry) {
        entries.link(sessionId, entry)
        fromAgent.settle()
      },
    },
    tell(line) {
      client.send(line)
      if (client.unsent > mostUnsent) side.pause()
    },
    toAgent(line) {
      side.send(line)
      if (side.unsent > mostUnsent) client.pause()
    },
    log,
    giveUp: () => void leave(1),
  }
  const fromClient = createFromClient(proxying)
  const fromAgent = createFromAgent(proxying, ownIds, permissions)
  const agentSaid = inOrder(fromAgent.see, error => log(String(error)))

  function clientSaid(line: Line): void {
    if (line.message?.method !== undefined) fromClient(line)
    else clientAnswered(line)
  }

  /** An answer to what the agent has asked; of one that is dead by now, nobody wants it. */
  function clientAnswered(line: Line): void {
    const bytes = ownIds.incoming(line, side.generation)
    const asked = permissions.answered(line)
    asked?.entry.seat.trace({ type: 'permission', data: asked.data })
    if (bytes) proxying.toAgent(bytes)
  }

  /** The agent's process has ended. What it had said is kept, whoever waits is answered, and the next prompt starts it again. */
  function onAgentEnd(): void {
    fromAgent.forget()
    entries.unlinkAll()
    for (const entry of entries.all()) entry.seat.vacate()
    for (const awaiting of answers.takeAll()) awaiting.onDeath()
    if (!leaving) log(side.epitaph)
  }

  async function leave(code = 0): Promise<void> {
    if (leaving) return
    leaving = true
    for (const { prompts } of entries.all())
      for (const { abort } of prompts) abort.abort(new DOMException('gone', 'AbortError'))
    const { code: agents } = await side.end()
    await Promise.allSettled(entries.all().map(({ seat }) => seat.idle()))
    // A client that is still read would keep the process alive.
    client.pause()
    client.close()
    const neverThere = !side.isIntroduced && agents === cannotStart
    done.resolve(neverThere ? 1 : code)
  }

  return { done: done.promise, close: () => void leave() }
}
