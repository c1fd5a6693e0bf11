import { gistOf } from '../../../core/gist.ts'
import { cut } from '../../output/cut.ts'
import { uniqueShortId } from '../../output/short-id.ts'
import { skeinCommand } from '../../store/skein-command.ts'
import type { Chat } from './chat-state.ts'

/** The width of a title in the last line of a chat. */
const titleCells = 40

/** `saved "Why is the build red?" · continue: skein -c a7xk5f`, if something was said in this run. */
export async function printLeaving(chat: Chat, continueWith?: (id: string) => string): Promise<void> {
  const { controller, context, hasSpoken, say } = chat
  const { store } = controller
  if (!hasSpoken || store === null) return
  try {
    const position = await controller.position()
    if (position === null) return
    const { conversation, head } = position
    const { style } = context.err
    const [last] = head === null ? [] : await store.getMessages([head], { blobs: 'preview' })
    const title = conversation.title ?? (last ? gistOf(last) : 'this conversation')
    const id = await uniqueShortId(store, conversation.id)
    const command = continueWith?.(id) ?? `${skeinCommand(context)} -c ${id}`
    const shown = cut(style.safe(title), titleCells, style.symbols.dots)
    say(style.faint(`saved "${shown}" ${style.symbols.dot} continue: ${style.safe(command)}`))
  } catch {
    // The store is away. What waits for it was reported before.
  }
}
