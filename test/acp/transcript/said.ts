import type { TerminalKey } from '../../../src/acp/transcript/call-update.ts'
import { createReplay } from '../../../src/acp/transcript/replay-updates.ts'
import type { Block } from '../../../src/core/block.ts'
import type { ConversationId, MessageId } from '../../../src/core/ids.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import type { Message, Role } from '../../../src/core/message.ts'

/** Stored messages as a store returns them, with ids that count. */
export function path(...said: readonly Said[]): readonly Message[] {
  return said.map(({ role, content: blocks, ...rest }, seq) => ({
    id: `m${seq}` as MessageId,
    conversationId: 'c' as ConversationId,
    parentId: seq === 0 ? null : (`m${seq - 1}` as MessageId),
    seq,
    depth: seq,
    role,
    content: blocks,
    plain: false,
    metadata: null,
    createdAt: new Date(0),
    tokens: 0,
    pathTokens: 0,
    turn: null,
    step: null,
    label: null,
    erased: null,
    blobs: [],
    ...rest,
  }))
}

/** All updates of a replay. */
export function replayed(
  messages: readonly Message[],
  terminalKey: TerminalKey = null,
): readonly JsonObject[] {
  const replay = createReplay(terminalKey)
  return [...messages.flatMap(message => replay.add(message)), ...replay.end()]
}

export interface Said extends Partial<Message> {
  readonly role: Role
  readonly content: readonly Block[]
}

export const user = (...blocks: readonly (string | Block)[]): Said => said('user', blocks)
export const assistant = (...blocks: readonly (string | Block)[]): Said => said('assistant', blocks)

export const called = (callId: string, name = 'read', input = {}): Block => ({
  type: 'tool_call',
  callId,
  name,
  input,
})
export const result = (callId: string, output: string): Said => ({
  role: 'tool_result',
  content: [{ type: 'tool_result', callId, output }],
})

function said(role: Role, blocks: readonly (string | Block)[]): Said {
  return {
    role,
    content: blocks.map(block => (typeof block === 'string' ? { type: 'text', text: block } : block)),
  }
}
