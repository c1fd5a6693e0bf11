import { asBlocks, type Block, type ToolCallBlock, type ToolResultBlock } from '../../src/core/block.ts'
import type { ConversationId, MessageId } from '../../src/core/ids.ts'
import type { Json, JsonObject } from '../../src/core/json.ts'
import { type Message, type Role, textOf } from '../../src/core/message.ts'
import type { ContextMessage } from '../../src/core/model.ts'
import { estimateTokens } from '../../src/core/tokens.ts'

/** The facts that a test gives of a message; the rest is filled in. */
export interface Said {
  readonly role: Role
  readonly content: string | readonly Block[]
  readonly metadata?: JsonObject
  readonly tokens?: number
  readonly erased?: true
}

/** A path of stored messages, with ids `m0`, `m1` … */
export function pathOf(...said: readonly Said[]): readonly Message[] {
  let pathTokens = 0
  return said.map((one, seq) => {
    const blocks = asBlocks(one.content)
    const tokens = one.tokens ?? estimateTokens(blocks)
    pathTokens += tokens
    return {
      id: `m${seq}` as MessageId,
      conversationId: 'c' as ConversationId,
      parentId: seq === 0 ? null : (`m${seq - 1}` as MessageId),
      seq,
      depth: seq,
      role: one.role,
      content: one.erased ? [] : blocks,
      plain: typeof one.content === 'string',
      metadata: one.metadata ?? null,
      createdAt: new Date(seq),
      tokens,
      pathTokens,
      turn: null,
      step: null,
      label: null,
      erased: one.erased ? { erasedAt: new Date(0), by: 'a test', reason: 'it asked' } : null,
      blobs: [],
    }
  })
}

export const user = (content: Said['content'], tokens?: number): Said => said('user', content, tokens)
export const assistant = (content: Said['content'], tokens?: number): Said =>
  said('assistant', content, tokens)
export const system = (content: Said['content']): Said => said('system', content)
export const results = (...blocks: readonly Block[]): Said => said('tool_result', blocks)

function said(role: Role, content: Said['content'], tokens?: number): Said {
  return { role, content, ...(tokens !== undefined && { tokens }) }
}

export const text = (words: string): Block => ({ type: 'text', text: words })
export const call = (callId: string, input: Json = {}): ToolCallBlock => ({
  type: 'tool_call',
  callId,
  name: 'read',
  input,
})
export const result = (callId: string, output: Json = `result of ${callId}`): ToolResultBlock => ({
  type: 'tool_result',
  callId,
  name: 'read',
  output,
})
export const thought = (words: string, signature?: string): Block =>
  signature === undefined
    ? { type: 'thinking', text: words }
    : { type: 'thinking', text: words, metadata: { anthropic: { signature } } }

/** A context in short form: one line per message. */
export function lines(messages: readonly ContextMessage[]): readonly string[] {
  return messages.map(({ role, content: blocks }) => `${role}: ${blocks.map(inShort).join(' + ')}`)
}

function inShort(block: Block): string {
  if (block.type === 'tool_call') return `call ${block.callId}`
  if (block.type === 'tool_result') return `${block.callId} = ${JSON.stringify(block.output)}`
  return block.type === 'text' ? textOf({ content: [block] }) : block.type
}
