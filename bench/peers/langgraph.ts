import type { Contender } from '../contender.ts'
import type { WorkMessage } from '../workload.ts'

/** LangGraph's SQLite saver, one `put` per turn with the whole state, as a graph does at each step.
 *  Operations that the saver does not have (a list of threads, forks) are refused. */

interface Saver {
  readonly db: { close(): void }
  put(config: object, checkpoint: object, metadata: object): Promise<unknown>
  getTuple(config: object): Promise<{ checkpoint: Checkpoint } | undefined>
}
interface Checkpoint {
  readonly id: string
  readonly channel_values: { readonly messages: readonly unknown[] }
}
type Make = new (fields: object) => unknown

// Not installed where types are checked.
const load = (name: string): Promise<unknown> => import(name)

export async function openLangGraph(file: string): Promise<Contender> {
  const { SqliteSaver } = (await load('@langchain/langgraph-checkpoint-sqlite')) as {
    SqliteSaver: { fromConnString(file: string): Saver }
  }
  const { uuid6 } = (await load('@langchain/langgraph-checkpoint')) as { uuid6(sequence: number): string }
  const kinds = (await load('@langchain/core/messages')) as Record<string, Make>
  const saver = SqliteSaver.fromConnString(file)
  const states = new Map<string, readonly unknown[]>()
  let steps = 0

  return {
    beginBulk() {},
    endBulk() {},
    create: id => {
      states.set(id, [])
    },
    head: async id => {
      const found = await saver.getTuple(place(id))
      states.set(id, found?.checkpoint.channel_values.messages ?? [])
      return found?.checkpoint.id ?? null
    },
    append: async (id, head, { messages }) => {
      const state = [...(states.get(id) ?? []), ...messages.map(message => messageOf(message, kinds))]
      const checkpoint = {
        ...{ v: 4, id: uuid6(steps), ts: new Date().toISOString(), channel_values: { messages: state } },
        ...{ channel_versions: { messages: steps }, versions_seen: {} },
      }
      await saver.put(place(id, head), checkpoint, { source: 'loop', step: steps++, parents: {} })
      states.set(id, state)
      return checkpoint.id
    },
    load: async id => {
      const found = await saver.getTuple(place(id))
      return found?.checkpoint.channel_values.messages.length ?? 0
    },
    // The saver reads a state as a whole.
    tail: async id => {
      const found = await saver.getTuple(place(id))
      return found?.checkpoint.channel_values.messages.slice(-40).length ?? 0
    },
    list: () => refuse('list threads'),
    fork: () => refuse('fork'),
    close: () => saver.db.close(),
  }
}

function place(id: string, head?: string | null) {
  return { configurable: { thread_id: id, checkpoint_ns: '', ...(head && { checkpoint_id: head }) } }
}

function refuse(what: string): never {
  throw new Error(`LangGraph's saver cannot ${what}`)
}

function messageOf({ role, content: blocks }: WorkMessage, kinds: Record<string, Make>): unknown {
  const make = (kind: string, fields: object) => new kinds[kind]!(fields)
  const [first] = blocks as { type: string; text?: string; callId?: string; output?: unknown }[]
  if (role === 'user') return make('HumanMessage', { content: first!.text })
  if (role === 'tool_result')
    return make('ToolMessage', { content: first!.output, tool_call_id: first!.callId })
  return make('AIMessage', { content: blocks })
}
