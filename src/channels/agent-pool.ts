import type { Agent } from '../agent/agent.ts'

/** The agents of a channel: one for each conversation that is being answered or was answered lately. */
export interface AgentPool {
  /** Runs work with the agent of a conversation. Waits while as many agents as allowed are at work. */
  use<T>(conversationId: string, work: (agent: Agent) => Promise<T>): Promise<T>
  /** Releases the agent of a conversation when it is idle, so that the next work opens a new one. */
  release(conversationId: string): Promise<void>
  /** The number of agents in memory. */
  readonly size: number
  /** Stops running turns and releases all agents. */
  close(): Promise<void>
}

export interface AgentPoolOptions {
  /** Opens an agent. Everything that it knows is in the store, so another one continues without a
   *  difference. */
  open(conversationId: string): Promise<Agent>
  /** Most agents at the same time. */
  readonly most: number
  /** How long an idle agent stays. Default: 10 minutes. */
  readonly idleMs?: number
}

interface PooledAgent {
  readonly opening: Promise<Agent>
  /** Work in progress. */
  users: number
  /** Set while it is being released. */
  closing: Promise<void> | null
  timer: NodeJS.Timeout | null
}

/** Keeps at most `most` agents. An idle agent is released after a while, or when another conversation needs
 *  its place. */
export function createAgentPool({ open, most, idleMs = 600_000 }: AgentPoolOptions): AgentPool {
  // In the order of their last use, the oldest first.
  const agents = new Map<string, PooledAgent>()
  const waiting: (() => void)[] = []
  let isClosed = false

  async function admit(id: string): Promise<PooledAgent> {
    for (;;) {
      const known = agents.get(id)
      if (known?.closing) {
        await known.closing
        continue
      }
      if (known) return take(id, known)
      if (agents.size < most) {
        const added: PooledAgent = { opening: open(id), users: 0, closing: null, timer: null }
        added.opening.catch(() => forget(id, added))
        return take(id, added)
      }
      const oldest = [...agents].find(([, { users, closing }]) => users === 0 && closing === null)
      if (oldest) await drop(...oldest)
      else await new Promise<void>(resolve => waiting.push(resolve))
    }
  }

  function take(id: string, agent: PooledAgent): PooledAgent {
    if (agent.timer) clearTimeout(agent.timer)
    agent.timer = null
    agent.users++
    agents.delete(id)
    agents.set(id, agent)
    return agent
  }

  function leave(id: string, agent: PooledAgent): void {
    agent.users--
    if (agent.users === 0 && agents.get(id) === agent) {
      agent.timer = setTimeout(() => void drop(id, agent), idleMs)
      agent.timer.unref()
    } else if (agent.users === 0) void closeAgent(agent)
    waiting.shift()?.()
  }

  function forget(id: string, agent: PooledAgent): void {
    if (agent.timer) clearTimeout(agent.timer)
    if (agents.get(id) === agent) agents.delete(id)
    waiting.shift()?.()
  }

  /** Its place is free only when the agent is closed. */
  function drop(id: string, agent: PooledAgent): Promise<void> {
    agent.closing ??= closeAgent(agent).finally(() => forget(id, agent))
    return agent.closing
  }

  return {
    get size() {
      return agents.size
    },
    async use(id, work) {
      if (isClosed) throw new Error('the channel is closed')
      const agent = await admit(id)
      try {
        return await work(await agent.opening)
      } finally {
        leave(id, agent)
      }
    },
    async release(id) {
      const agent = agents.get(id)
      if (!agent) return
      // One that is at work is closed by its last user.
      if (agent.users === 0) await drop(id, agent)
      else forget(id, agent)
    },
    async close() {
      isClosed = true
      await Promise.all([...agents].map(([id, agent]) => drop(id, agent)))
    },
  }
}

async function closeAgent({ opening }: PooledAgent): Promise<void> {
  // A store that is away must not delay the release: queued messages stay queued.
  await opening.then(
    agent => agent.close({ withinMs: 0 }),
    () => undefined,
  )
}
