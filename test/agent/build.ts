import { z } from 'zod'
import { type Agent, createAgent } from '../../src/agent/agent.ts'
import type { AgentOptions } from '../../src/agent/options.ts'
import type { AgentEvent } from '../../src/agent/run/events.ts'
import type { Run } from '../../src/agent/run/run.ts'
import { tool } from '../../src/agent/tools/tool.ts'
import type { KnownBlock } from '../../src/core/block.ts'
import type { ModelRequest } from '../../src/core/model.ts'
import { collectPages } from '../../src/core/pages.ts'
import { pathOf } from '../../src/core/path.ts'
import { openStore, type Store, textOf } from '../../src/index.ts'
import { type ScriptedOptions, scripted } from '../../src/models/scripted.ts'

export interface World {
  readonly store: Store
  readonly agent: Agent
  /** Another agent on the same store, like one in another process. */
  another(script?: ScriptedOptions['script'], options?: Partial<AgentOptions>): Agent
  [Symbol.asyncDispose](): Promise<void>
}

/** A store in memory and an agent on it. */
export async function world(
  script?: ScriptedOptions['script'],
  options: Partial<AgentOptions> = {},
): Promise<World> {
  const store = await openStore(':memory:')
  const another: World['another'] = (lines, other = {}) =>
    createAgent({ store, model: scripted(lines ? { script: lines } : {}), ...other })
  const agent = another(script, options)
  return {
    store,
    agent,
    another,
    async [Symbol.asyncDispose]() {
      await agent.close()
      await store.close()
    },
  }
}

/** The messages of a conversation, a line each: `user: hi`, `assistant: [add]`, `tool_result: 3`. */
export async function said(store: Store, key: string): Promise<string[]> {
  const place = await store.findByKey(key)
  if (!place?.branch.head) return []
  return (await pathOf(store, place.branch.head)).map(message => {
    const parts = message.content.map(block => {
      if (block.type === 'tool_call') return `[${block.name}]`
      return block.type === 'tool_result' ? JSON.stringify(block.output) : textOf({ content: [block] })
    })
    return `${message.role}: ${parts.join(' ')}`
  })
}

export async function statuses(store: Store, key: string): Promise<string[]> {
  const place = await store.findByKey(key)
  return (await collectPages(page => store.listTurns(place!.conversation.id, page))).map(turn => turn.status)
}

/** The blocks of one type in a context. */
export function blocksOf<T extends KnownBlock['type']>(
  { messages }: ModelRequest,
  type: T,
): Extract<KnownBlock, { type: T }>[] {
  const blocks = messages.flatMap(message => message.content)
  return blocks.filter((block): block is Extract<KnownBlock, { type: T }> => block.type === type)
}

/** All events of a run, and how it ended. */
export async function eventsOf(run: Run): Promise<AgentEvent[]> {
  const events: AgentEvent[] = []
  for await (const event of run) events.push(event)
  return events
}

/** Resolves with the first event of this type. */
export async function told<T extends AgentEvent['type']>(
  run: Run,
  type: T,
): Promise<Extract<AgentEvent, { type: T }>> {
  for await (const event of run) if (event.type === type) return event as Extract<AgentEvent, { type: T }>
  throw new Error(`the run ended without ${type}`)
}

export const adder = tool({
  description: 'Adds two numbers',
  input: z.object({ a: z.number(), b: z.number() }),
  run: ({ a, b }) => a + b,
})
