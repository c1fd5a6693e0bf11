import { onTestFinished } from 'vitest'
import type { BranchRef } from '../../src/core/branch.ts'
import type { ConversationId } from '../../src/core/ids.ts'
import { type NewMessage, textOf } from '../../src/core/message.ts'
import { pathOf } from '../../src/core/path.ts'
import type { Store } from '../../src/core/ports.ts'
import { openStore } from '../../src/stores/open.ts'
import { type Clockwork, clockwork } from './clockwork.ts'
import { type FailingStore, failingStore } from './failing.ts'

export const user = (text: string): NewMessage => ({ role: 'user', content: text })
export const assistant = (text: string): NewMessage => ({ role: 'assistant', content: text })
export const text = (piece: string) => ({ type: 'text', text: piece }) as const

export interface Place {
  readonly store: Store
  readonly clock: Clockwork
  readonly failing: FailingStore
  readonly branch: BranchRef
  readonly id: ConversationId
  /** The texts on the path of a branch, oldest first. */
  said(name?: string): Promise<readonly string[]>
}

/** A new conversation in a store in memory, with a clock of its own. */
export async function place(target = ':memory:'): Promise<Place> {
  const clock = clockwork()
  const real = await openStore(target, { source: { now: clock.now, uuid: () => crypto.randomUUID() } })
  onTestFinished(() => real.close())
  const { branch, conversation } = await real.create()
  const failing = failingStore(real)
  return {
    store: real,
    clock,
    failing,
    branch: { conversationId: conversation.id, name: branch.name },
    id: conversation.id,
    async said(name = branch.name) {
      const { head } = await real.getBranch({ conversationId: conversation.id, name })
      return head === null ? [] : (await pathOf(real, head)).map(textOf)
    },
  }
}
