import { describe, expect, expectTypeOf, it } from 'vitest'
import type { Block, NewBlock, TextBlock, ToolCallBlock } from '../../src/core/block.ts'
import { asBlock, otherOf } from '../../src/core/block.ts'
import type { NewConversation } from '../../src/core/conversation.ts'
import type { NewMessage } from '../../src/core/message.ts'

/** A type of an application. An interface has no index signature, so it is not assignable to `JsonObject`. */
interface Weather {
  readonly city: string
  readonly degrees: number
}

describe('the types of blocks and messages', () => {
  it('narrow a block by its type', () => {
    const texts: string[] = []
    const read = (block: Block): void => {
      if (block.type === 'text') {
        expectTypeOf(block).toEqualTypeOf<TextBlock>()
        texts.push(block.text)
      }
      if (block.type === 'tool_call') expectTypeOf(block).toEqualTypeOf<ToolCallBlock>()
      switch (block.type) {
        case 'thinking':
          texts.push(block.text)
          break
        default:
          break
      }
    }
    for (const block of [{ type: 'text', text: 'a' } as const, { type: 'thinking', text: 'b' } as const])
      read(block)
    read(asBlock({ type: 'citation', text: 'c' }))
    expect(texts).toEqual(['a', 'b'])
  })

  it('read the fields of a block with another type through otherOf', () => {
    const citation = otherOf(asBlock({ type: 'citation', url: 'https://example.org' }))
    expect(citation?.type === 'citation' ? citation.url : null).toBe('https://example.org')
    expect(otherOf({ type: 'text', text: 'x' })).toBeNull()
  })

  it('accept values of plain interfaces as JSON', () => {
    const weather: Weather = { city: 'Oslo', degrees: -3 }
    const result: NewBlock = { type: 'tool_result', callId: 'c1', output: weather }
    const message: NewMessage = { role: 'tool', content: [result], metadata: weather }
    const conversation: NewConversation = { metadata: weather }
    expect([message.metadata, conversation.metadata]).toEqual([weather, weather])
  })

  it('accept blocks from a list that was built without a type', () => {
    const blocks = ['a', 'b'].map(text => ({ type: 'text', text }))
    expectTypeOf(blocks).toExtend<readonly NewBlock[]>()
    expect(blocks).toHaveLength(2)
  })
})
