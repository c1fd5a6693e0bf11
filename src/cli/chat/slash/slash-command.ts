import type { ChatPosition, ChatStore } from '../state/chat-controller.ts'
import type { Chat, NextStep } from '../state/chat-state.ts'

/** A command of a chat. */
export interface SlashCommand {
  readonly name: string
  readonly aliases?: readonly string[]
  /** The argument as the help shows it: `[name]`. */
  readonly argument?: string
  readonly help: string
  /** `nothing` if it also works in an empty conversation and without a store. */
  readonly needs?: 'nothing'
  /** Set if it concerns our own model. It does nothing if another program answers. */
  readonly ofModels?: true
  run(chat: Chat, argument: string): Promise<NextStep>
  /** The candidates for its argument. */
  complete?(chat: Chat): Promise<readonly string[]>
}

/** The position of the chat, for commands that need one: `runSlash` has checked that it exists. */
export async function currentPosition({
  controller,
}: Chat): Promise<ChatPosition & { readonly store: ChatStore }> {
  const position = await controller.position()
  return { ...position!, store: controller.store! }
}
