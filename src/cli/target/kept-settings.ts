import type { Conversation, ConversationPatch, NewConversation } from '../../core/conversation.ts'

/** What a conversation keeps of its model: the model and the system prompt. */
export interface KeptSettings {
  /** The settings of a new conversation. */
  readonly ofNew: Pick<NewConversation, 'model' | 'prompt' | 'promptPolicy' | 'toolResults' | 'metadata'>
  /** What changes in an existing one; null if nothing does. */
  changeOf(conversation: Conversation): ConversationPatch | null
}
