import { expectTypeOf, it } from 'vitest'
import type { ConversationId, MessageId } from '../../src/core/ids.ts'

it('accepts strings as ids, and refuses one kind of id for the other', () => {
  expectTypeOf<string>().toExtend<ConversationId>()
  expectTypeOf<string>().toExtend<MessageId>()
  expectTypeOf<ConversationId>().toExtend<string>()
  expectTypeOf<ConversationId>().not.toExtend<MessageId>()
  expectTypeOf<MessageId>().not.toExtend<ConversationId>()
})
