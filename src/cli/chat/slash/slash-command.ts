import type { ChatPosition, ChatStore } from '../state/chat-controller.ts'
import type { Chat, NextStep } from '../state/chat-state.ts'

/** A command of a chat. */
export interface SlashCommand {
  readonly name: string
  readonly aliases?: readonly string[]
  /** What stands behind it in the help: `[name]`. */
  readonly argument?: string
  readonly help: string
  /** `nothing` if it works before anything was said, and where nothing is kept. */
  readonly needs?: 'nothing'
  /** Set if it is about a model of ours: where another program answers, there is nothing that it could do. */
  readonly ofModels?: true
  run(chat: Chat, argument: string): Promise<NextStep>
  /** What may stand behind it. */
  complete?(chat: Chat): Promise<readonly string[]>
}

/** Where the chat is. Only for commands that need something to be there: it is checked before they run. */
export async function currentPosition({
  controller,
}: Chat): Promise<ChatPosition & { readonly store: ChatStore }> {
  const position = await controller.position()
  return { ...position!, store: controller.store! }
}
