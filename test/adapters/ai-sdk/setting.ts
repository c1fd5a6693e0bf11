import type { LanguageModelV4 } from '@ai-sdk/provider'
import { onTestFinished } from 'vitest'
import type { BranchRef } from '../../../src/core/branch.ts'
import type { Message } from '../../../src/core/message.ts'
import { collectPages } from '../../../src/core/pages.ts'
import { pathOf } from '../../../src/core/path.ts'
import type { Store } from '../../../src/core/ports.ts'
import { openStore } from '../../../src/stores/open.ts'
import { type RecorderSource, systemRecorderSource } from '../../../src/system/source.ts'
import type { Reply } from '../../support/models/reply.ts'
import { type ModelServer, type SeenRequest, startModelServer } from '../../support/models/server.ts'
import { modelOf, type Provider } from './setting-models.ts'

export interface Setting {
  readonly store: Store
  readonly server: ModelServer
  model(provider?: Provider): LanguageModelV4
}

/** A store and a model server for one test. The n-th request gets the n-th reply; all further ones get the
 *  last. */
export async function setUp(
  ...replies: (Reply | ((request: SeenRequest) => Reply | Promise<Reply>))[]
): Promise<Setting> {
  const server = await startModelServer({
    reply(request) {
      const reply = replies[Math.min(request.n, replies.length - 1)] ?? 'ok'
      return typeof reply === 'function' ? reply(request) : reply
    },
  })
  const store = await openStore(':memory:')
  onTestFinished(async () => {
    await server.close()
    await store.close()
  })
  return { store, server, model: (provider = 'openai') => modelOf(provider, server) }
}

/** The messages of a branch, one line each: `user: hi`, `assistant: [look {"at":"x"}]`, `tool_result: look →
 *  seen`. */
export async function said(store: Store, branch: BranchRef): Promise<readonly string[]> {
  const { head } = await store.getBranch(branch)
  return head === null ? [] : (await pathOf(store, head)).map(lineOf)
}

export function lineOf({ role, content: blocks }: Pick<Message, 'role' | 'content'>): string {
  const parts = blocks.map(block => {
    if (block.type === 'text') return String(block.text)
    if (block.type === 'thinking') return `(${block.text})`
    if (block.type === 'tool_call') return `[${block.name} ${JSON.stringify(block.input)}]`
    if (block.type === 'tool_result')
      return `${block.name} ${block.isError ? '✗' : '→'} ${typeof block.output === 'string' ? block.output : JSON.stringify(block.output)}`
    return `<${block.type}>`
  })
  return `${role}: ${parts.join(' ')}`
}

/** Turns of the conversation: `complete main 0-3`. */
export async function turns(store: Store, { conversationId }: BranchRef): Promise<readonly string[]> {
  return (await collectPages(page => store.listTurns(conversationId, page))).map(
    ({ status, branch, first, last }) => `${status} ${branch} ${first}-${last}`,
  )
}

/** The number of messages in the whole forest. Messages that are stored twice would change it. */
export async function count(store: Store, { conversationId }: BranchRef): Promise<number> {
  return (await store.getConversation(conversationId)).messages
}

/** The timeouts of an exchange, in numbers that nothing else uses, so that a test can find the timers. */
export const timeouts = { answeredMs: 1_000_001, callsMs: 1_000_002, retryMs: 1_000_003 } as const

/** A source whose timers run when the test calls `runOut`. */
export function manualTimeouts() {
  const waiting = new Map<number, Set<() => void>>()
  const source: RecorderSource = {
    ...systemRecorderSource,
    after(ms, run, options) {
      if (!Object.values(timeouts).some(own => own === ms))
        return systemRecorderSource.after(ms, run, options)
      const timers = waiting.get(ms) ?? new Set()
      waiting.set(ms, timers.add(run))
      return () => timers.delete(run)
    },
  }
  /** Runs the timers of this kind; returns how many there were. */
  const runOut = (kind: keyof typeof timeouts): number => {
    const timers = [...(waiting.get(timeouts[kind]) ?? [])]
    waiting.delete(timeouts[kind])
    for (const run of timers) run()
    return timers.length
  }
  return { source, timeouts: { ...timeouts, busyMs: 0 }, runOut }
}
