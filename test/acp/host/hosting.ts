import { randomUUID } from 'node:crypto'
import { createHost } from '../../../src/acp/host/host.ts'
import type { Host, HostOptions } from '../../../src/acp/host/host-options.ts'
import type { Target } from '../../../src/agent/history/history.ts'
import type { AgentEvent, Reply } from '../../../src/agent/run/events.ts'
import type { BranchRef } from '../../../src/core/branch.ts'
import type { TraceEvent } from '../../../src/core/event.ts'
import { type Message, textOf } from '../../../src/core/message.ts'
import { collectPages } from '../../../src/core/pages.ts'
import { pathOf } from '../../../src/core/path.ts'
import type { Store } from '../../../src/core/ports.ts'
import { openSqliteStore } from '../../../src/stores/sqlite/index.ts'
import { type AgentName, agentCommand, openStage, type Stage } from '../agents/harness.ts'
import { killAll, processesOf, runVariable } from '../agents/processes.ts'

/** The events of a run, and its result. */
export interface Heard {
  readonly events: readonly AgentEvent[]
  readonly reply: Reply
  readonly memory: Extract<AgentEvent, { type: 'memory' }> | undefined
}

/** A host, and the processes of its agent. */
export interface TestHost extends Host {
  /** Sends a message and waits for the end. Returns all events. */
  say(target: Target, words: string, options?: Parameters<Host['send']>[2]): Promise<Heard>
  agents(): readonly number[]
  /** Kills the agent, as a power cut would. */
  killAgent(): Promise<void>
}

/** A stage with a store: several hosts, one after the other, on the same conversations. */
export interface Hosting extends Stage {
  readonly store: Store
  host(agent: readonly string[] | AgentName, options?: Partial<HostOptions>): TestHost
  branchOf(key: string): Promise<BranchRef>
  said(key: string): Promise<readonly Message[]>
  /** The same for people: `user: hello`. */
  words(key: string): Promise<readonly string[]>
  traces(key: string, type: TraceEvent['type']): Promise<readonly TraceEvent[]>
}

export async function openHosting(): Promise<Hosting> {
  const stage = await openStage()
  const store = await openSqliteStore(':memory:')
  const hosts: Host[] = []
  const branchOf = async (key: string): Promise<BranchRef> => (await store.resolve(key)).branch

  async function said(key: string): Promise<readonly Message[]> {
    const { head } = (await store.resolve(key)).branch
    return head === null ? [] : pathOf(store, head)
  }

  return {
    ...stage,
    store,
    host(agent, options = {}) {
      const [command, ...args] = typeof agent === 'string' ? agentCommand(agent) : agent
      const run = randomUUID()
      const env = { ...definedOf(stage.env), [runVariable]: run }
      const host = createHost({
        store,
        command: { command: command!, args, env },
        directory: stage.cwd,
        ...options,
      })
      hosts.push(host)
      return {
        ...host,
        say: async (target, words, sending) => {
          const events: AgentEvent[] = []
          const started = host.send(target, words, sending)
          for await (const event of started) events.push(event)
          const memory = events.find(event => event.type === 'memory')
          return { events, reply: await started.result(), memory }
        },
        agents: () => processesOf(run),
        killAgent: () => killAll(run),
      }
    },
    branchOf,
    said,
    words: async key => (await said(key)).map(message => `${message.role}: ${textOf(message)}`),
    traces: async (key, type) =>
      collectPages(async page =>
        store.listEvents((await branchOf(key)).conversationId, { types: [type], limit: 100, ...page }),
      ),
    async [Symbol.asyncDispose]() {
      await Promise.all(hosts.map(host => host.close()))
      await stage[Symbol.asyncDispose]()
      await store.close()
    },
  }
}

function definedOf(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
}
