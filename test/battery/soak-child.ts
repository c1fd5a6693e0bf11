import type { BranchRef } from '../../src/core/branch.ts'
import type { ConversationId, MessageId } from '../../src/core/ids.ts'
import type { NewMessage } from '../../src/core/message.ts'
import type { Store } from '../../src/core/ports.ts'
import { openStore } from '../../src/stores/open.ts'
import { turnLength, words } from './writer.ts'

/** A process that performs the operations of agents and users, one for each number that it receives. */

/** Its answer to operation `n`. */
export interface SoakAnswer {
  readonly n: number
  /** The error, if there was one. */
  readonly failed?: string
}

/** Turns in a conversation before the next one begins. */
const turnsPerConversation = 100

/** What the leaking processes of the control keep for each operation: buffers or objects. */
const leaks: object[] = []

if (process.send) await live(process.argv[2]!, process.argv[3] as Leak | undefined)

/** What a process of the control leaks. */
export type Leak = 'buffers' | 'objects'

async function live(target: string, leak: Leak | undefined): Promise<void> {
  const store = await openStore(target)
  const perform = operations(store)
  process.on('message', (n: number) => {
    if (leak === 'buffers') leaks.push(Buffer.alloc(50_000, 1))
    if (leak === 'objects') leaks.push(Array.from({ length: 1_200 }, () => ({ n })))
    perform(n).then(
      () => answer({ n }),
      error => answer({ n, failed: String(error) }),
    )
  })
  process.once('disconnect', () => void store.close())
  process.send!('ready')
}

function answer(result: SoakAnswer): void {
  process.send?.(result)
}

/** Of ten operations, five append a turn; the others read, list, search and fork. */
function operations(store: Store): (n: number) => Promise<unknown> {
  let place: { id: ConversationId; branch: BranchRef; head: MessageId | null; turns: number } | undefined
  return async n => {
    if (place === undefined || place.turns === turnsPerConversation) {
      const { branch, conversation } = await store.create({ key: `soak ${n}` })
      place = { id: conversation.id, branch, head: null, turns: 0 }
    }
    const { id, branch, head, turns } = place
    switch (n % 10) {
      case 1:
      case 6:
        return head && store.tail(head, { messages: 20 })
      case 3:
        return store.listConversations({ limit: 20 })
      case 5:
        return store.search(`soak ${turns}`, { limit: 5 })
      case 8:
        return fork(store, id, head, n)
      default: {
        const messages = Array.from({ length: turnLength }, (_, i): NewMessage => {
          return { role: i === 0 ? 'user' : 'assistant', content: words('soak', n, i) }
        })
        place.head = (await store.append(branch, head, messages, { turn: { key: `${n}`, step: 0 } })).head
        place.turns++
        return
      }
    }
  }
}

async function fork(store: Store, id: ConversationId, at: MessageId | null, n: number): Promise<void> {
  const branch = await store.createBranch(id, at, { name: `fork ${n}` })
  await store.append(branch, at, [{ role: 'user', content: 'Or else?' }])
  await store.deleteBranch(branch)
}
