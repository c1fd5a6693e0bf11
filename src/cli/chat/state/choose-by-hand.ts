import type { World } from '../../command-line/command-context.ts'
import { show } from '../../read/show.ts'
import { branchAt } from '../../target/planned-fork.ts'
import type { Keyboard } from '../input/keyboard.ts'
import type { ChatStore } from './chat-controller.ts'
import { pickConversation } from './pick-conversation.ts'

/** Lets a person pick a conversation, and returns what names the branch to go on with: `id:branch`. Null if they picked
 *  none. `escapeMeans` is what that means. */
export async function chooseByHand(
  store: ChatStore,
  keyboard: Keyboard,
  world: World,
  escapeMeans: string,
): Promise<string | null> {
  for (;;) {
    const picked = await pickConversation({ store, keyboard, world, escapeMeans })
    if (picked === null) return null
    const { id, branch } = picked.conversation
    if (picked.wish === 'go on') return `${id}:${branch.name}`
    if (picked.wish === 'fork') {
      const { name } = await branchAt(store, id, branch.head, branch.name)
      return `${id}:${name}`
    }
    await keyboard.lend(() => show({ arguments: [id], options: {} }, world))
  }
}
