import { isCall, isResult } from '../../../src/context/view/pairs.ts'
import type { Block } from '../../../src/core/block.ts'
import type { ContextMessage } from '../../../src/core/model.ts'

/** Checks the rules that all providers share (settled 16). Returns the fault, or null. */
export function shapeFault(messages: readonly ContextMessage[]): string | null {
  const start = messages.findIndex(message => message.role !== 'system')
  const talk = start === -1 ? [] : messages.slice(start)
  const ids = new Set<string>()
  for (const [i, message] of talk.entries()) {
    const calls = message.content.filter(isCall)
    const answered = talk[i + 1]?.role === 'tool_result' ? resultIds(talk[i + 1]!) : []
    if (message.role !== 'assistant' && calls.length > 0) return `${i}: a call by the ${message.role}`
    if (calls.length > 0 && calls.map(block => block.callId).join() !== answered.join())
      return `${i}: the calls are not answered in the next message, in their order`
    for (const { callId } of calls) {
      if (ids.has(callId)) return `${i}: the call id ${callId} stands twice`
      ids.add(callId)
    }
    if (resultIds(message).length > 0 && (i === 0 || !hasCalls(talk[i - 1]!)))
      return `${i}: a result without a call in the message before`
    if (message.role === 'assistant' && message.content.at(-1)?.type === 'thinking')
      return `${i}: thinking that leads to nothing`
  }
  for (const [i, { role, content: blocks }] of messages.entries()) {
    if (blocks.length === 0) return `${i}: nothing is said`
    if (role !== 'assistant' && blocks.some(block => block.type === 'thinking'))
      return `${i}: the ${role} thinks`
    if (blocks.some(isEmptyText)) return `${i}: an empty text`
    if (!isWellFormed(blocks)) return `${i}: a text that is none`
  }
  return null
}

function resultIds({ content: blocks }: ContextMessage): readonly unknown[] {
  return blocks.filter(isResult).map(block => block.callId)
}

function hasCalls({ role, content: blocks }: ContextMessage): boolean {
  return role === 'assistant' && blocks.some(block => block.type === 'tool_call')
}

function isEmptyText(block: Block): boolean {
  return block.type === 'text' && block.metadata === undefined && String(block.text).trim() === ''
}

/** `JSON.stringify` escapes an unpaired surrogate, and not a pair. */
function isWellFormed(blocks: readonly Block[]): boolean {
  const changeable = blocks.filter(block => block.type !== 'thinking' || block.metadata === undefined)
  return !/\\ud[89a-f]/.test(JSON.stringify(changeable))
}
