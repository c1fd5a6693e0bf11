import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider'
import { asBlock, type Block } from '../../core/block.ts'
import type { NewMessage, Role } from '../../core/message.ts'
import { callBlock, isPassingMark, otherBlock } from '../../models/content.ts'
import { fileBlock } from '../../models/file-block.ts'
import { metadataOf } from '../../models/metadata.ts'
import { plainJson } from '../../models/plain-json.ts'
import { toolResultBlock } from '../../models/tool-result-block.ts'

/** A prompt of the AI SDK in our types. */
export interface ReadPrompt {
  /** The leading system messages, joined by a blank line; null if there is none. */
  readonly system: string | null
  readonly messages: readonly NewMessage[]
}

/** Converts the prompt of a call to messages. `metadata.provider` of a block keeps the provider's options.
 *  Synthetic results of `ModelRecorder.messages` are left out: no tool has returned them. */
export function readPrompt(prompt: LanguageModelV4Prompt): ReadPrompt {
  const first = prompt.findIndex(({ role }) => role !== 'system')
  const leading = first === -1 ? prompt.length : first
  const system = prompt.slice(0, leading).map(message => message.content as string)
  return {
    system: system.length === 0 ? null : system.join('\n\n'),
    messages: prompt.slice(leading).map(readMessage),
  }
}

const roles: Record<LanguageModelV4Message['role'], Role> = {
  system: 'system',
  user: 'user',
  assistant: 'assistant',
  tool: 'tool_result',
}

function readMessage(message: LanguageModelV4Message): NewMessage {
  const role = roles[message.role]
  if (message.role === 'system') return { role, content: message.content }
  const parts = (message.content as readonly Part[]).filter(
    part => !isSynthetic(part) && !isPassingMark(part),
  )
  const blocks = parts.map(part => readPart(part, role))
  const [only] = blocks
  // A single text of the user was most likely a plain string, and stays one.
  if (role === 'user' && blocks.length === 1 && only?.type === 'text' && only.metadata === undefined)
    return { role, content: only.text as string }
  return { role, content: blocks }
}

type Part = Exclude<LanguageModelV4Message, { role: 'system' }>['content'][number]

function isSynthetic({ providerOptions }: Part): boolean {
  return providerOptions?.skein?.synthetic !== undefined
}

function readPart(part: Part, role: Role): Block {
  const metadata = metadataOf({ provider: part.providerOptions })
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text, ...metadata }
    case 'reasoning':
      return { type: 'thinking', text: part.text, ...metadata }
    case 'file':
      return fileBlock(part, metadata)
    case 'reasoning-file':
      return fileBlock(part, metadataOf({ provider: part.providerOptions, reasoning: true }))
    case 'custom':
      return asBlock({ type: 'provider_custom', kind: part.kind, ...metadata })
    case 'tool-call':
      return callBlock(part, plainJson(part.input), metadata)
    case 'tool-result': {
      const { toolCallId, toolName, output, providerOptions } = part
      const result = toolResultBlock(toolCallId, toolName, output, { provider: providerOptions })
      // A result within an answer comes from a tool that the provider has executed.
      return role === 'tool_result' ? result : asBlock({ ...result, type: 'provider_result' })
    }
    case 'tool-approval-response': {
      const { approvalId, approved, reason } = part
      const because = reason === undefined ? {} : { reason }
      const block = { type: 'provider_tool-approval-response', approvalId, approved, ...because, ...metadata }
      return asBlock(block)
    }
    default:
      return otherBlock(part satisfies never)
  }
}
