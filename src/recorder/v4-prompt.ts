import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider'
import type { Block } from '../core/block.ts'
import type { NewMessage, Role } from '../core/message.ts'
import { callBlock, isPassingMark, otherBlock } from '../models/content.ts'
import { fileBlock } from '../models/file-block.ts'
import { metadataOf } from '../models/metadata.ts'
import { plainJson } from '../models/plain-json.ts'
import { resultBlock } from './v4-result.ts'

/** A prompt in our words: the system prompt that it begins with, and what was said. */
export interface PromptWords {
  /** The leading system messages, joined by a blank line; null if there is none. */
  readonly system: string | null
  readonly messages: readonly NewMessage[]
}

/** Reads what a model of the AI SDK is given. What a provider wants back stands in `metadata.provider` of a block.
 *  Results that were made up for a view (`ModelRecorder.messages`) are left out: nobody has said them. */
export function readPrompt(prompt: LanguageModelV4Prompt): PromptWords {
  const said = prompt.findIndex(({ role }) => role !== 'system')
  const leading = said === -1 ? prompt.length : said
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
  if (message.role === 'system') return { role, blocks: message.content }
  const parts = (message.content as readonly Part[]).filter(part => !isMadeUp(part) && !isPassingMark(part))
  const blocks = parts.map(part => readPart(part, role))
  const [only] = blocks
  // A person's words that are nothing but words stay the plain string that they most likely were.
  if (role === 'user' && blocks.length === 1 && only?.type === 'text' && only.metadata === undefined)
    return { role, blocks: only.text as string }
  return { role, blocks }
}

type Part = Exclude<LanguageModelV4Message, { role: 'system' }>['content'][number]

function isMadeUp({ providerOptions }: Part): boolean {
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
      return { type: 'provider_custom', kind: part.kind, ...metadata }
    case 'tool-call':
      return callBlock(part, plainJson(part.input), metadata)
    case 'tool-result': {
      const { toolCallId, toolName, output, providerOptions } = part
      const result = resultBlock(toolCallId, toolName, output, { provider: providerOptions })
      // What stands in an answer is of a tool of the provider's own.
      return role === 'tool_result' ? result : { ...result, type: 'provider_result' }
    }
    case 'tool-approval-response': {
      const { approvalId, approved, reason } = part
      const because = reason === undefined ? {} : { reason }
      return { type: 'provider_tool-approval-response', approvalId, approved, ...because, ...metadata }
    }
    default:
      return otherBlock(part satisfies never)
  }
}
