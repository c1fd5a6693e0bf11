import type {
  LanguageModelV4Message,
  LanguageModelV4ToolResultOutput,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider'
import {
  type Block,
  isKnown,
  type MediaBlock,
  type OtherBlock,
  otherOf,
  type ToolResultBlock,
} from '../../core/block.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import type { Role } from '../../core/message.ts'
import { fileData, isReasoningFile } from '../../models/file-block.ts'
import { objectOf, providerPart } from '../../models/provider-part.ts'
import { deniedText, outputForm } from '../../models/tool-result-block.ts'

/** Converts messages to those of the AI SDK: `messages` of `generateText` and `streamText`, and the prompt of
 *  a model. It is the inverse of `readPrompt` and `blocksOf`, and accepts all other blocks. Sources and
 *  blocks of unknown types are left out: no provider accepts them.
 *
 *  Our own models use `models/prompt.ts` instead, which writes for one provider and leaves out, or turns into
 *  text, what that provider refuses. Here the caller gets its messages back in their original form, for any
 *  provider. */
export function writeMessages(
  messages: readonly { readonly role: Role; readonly content: readonly Block[] }[],
): LanguageModelV4Message[] {
  const written: LanguageModelV4Message[] = []
  for (const message of messages) {
    const next = writeMessage(message.role, message.content)
    if (next === null) continue
    const last = written.at(-1)
    if (next.role === 'tool' && last?.role === 'tool') last.content.push(...next.content)
    else written.push(next)
  }
  return written
}

function writeMessage(role: Role, blocks: readonly Block[]): LanguageModelV4Message | null {
  if (role === 'system')
    return { role, content: blocks.map(block => (isText(block) ? block.text : '')).join('\n\n') }
  const content = blocks.flatMap(block => writeBlock(block, role))
  if (content.length === 0) return null
  return { role: role === 'tool_result' ? 'tool' : role, content } as LanguageModelV4Message
}

type Part = Exclude<LanguageModelV4Message, { role: 'system' }>['content'][number]

function writeBlock(block: Block, role: Role): readonly Part[] {
  const options = optionsOf(block)
  if (!isKnown(block)) return writeOther(block, options)
  switch (block.type) {
    case 'text':
      return block.text === '' && Object.keys(options).length === 0
        ? []
        : [{ type: 'text', text: block.text, ...options }]
    case 'thinking':
      return [{ type: 'reasoning', text: block.text, ...options }]
    case 'tool_call': {
      const { callId, name, input } = block
      return [
        {
          type: 'tool-call',
          toolCallId: callId,
          toolName: name,
          input: objectOf(input),
          ...options,
        },
      ]
    }
    case 'tool_result': {
      const { callId, name = 'unknown' } = block
      return [
        { type: 'tool-result', toolCallId: callId, toolName: name, output: outputOf(block), ...options },
      ]
    }
    default:
      return role === 'tool_result' ? [] : [writeFile(block, options)]
  }
}

/** Blocks with data that only a provider can read. */
function writeOther(block: OtherBlock, options: Options): readonly Part[] {
  switch (block.type) {
    case 'provider_file': {
      const data = { type: 'reference', reference: block.reference as Record<string, string> } as const
      const filename = typeof block.name === 'string' ? { filename: block.name } : {}
      return [{ type: 'file', mediaType: String(block.mime), data, ...filename, ...options }]
    }
    case 'provider_tool-approval-response': {
      const { approvalId, approved, reason } = block
      const part = {
        type: 'tool-approval-response',
        approvalId,
        approved,
        providerExecuted: true,
        ...options,
      }
      return [{ ...part, ...(reason !== undefined && { reason }) } as unknown as Part]
    }
    default: {
      const part = providerPart(block, options, one => outputOf(one as unknown as ToolResultBlock))
      return part === null ? [] : [part]
    }
  }
}

function writeFile(block: MediaBlock, options: Options): Part {
  const data = fileData(block)
  if (isReasoningFile(block) && data.type !== 'text')
    return { type: 'reasoning-file', mediaType: block.mime, data, ...options }
  const filename = block.name === undefined ? {} : { filename: block.name }
  return { type: 'file', mediaType: block.mime, data, ...filename, ...options }
}

function outputOf(block: ToolResultBlock): LanguageModelV4ToolResultOutput {
  const { output, isError = false, metadata } = block
  const given = metadata?.outputProvider as SharedV4ProviderOptions | undefined
  const options = given === undefined ? {} : { providerOptions: given }
  const type = (metadata?.output as string | undefined) ?? outputForm(output, isError)
  if (type === 'execution-denied') {
    const reason = output === deniedText ? {} : { reason: String(output) }
    return { type, ...reason, ...options }
  }
  const value = type === 'content' && Array.isArray(output) ? output.map(resultPart) : output
  return { type, value, ...options } as unknown as LanguageModelV4ToolResultOutput
}

/** A part of a result with several parts. */
function resultPart(piece: Json): unknown {
  const block = piece as unknown as Block
  return isKnown(block) || otherOf(block)?.type === 'provider_file' ? writeBlock(block, 'user')[0] : piece
}

type Options = { readonly providerOptions?: SharedV4ProviderOptions }

/** The provider's options of a block, and our mark of a synthetic result. */
function optionsOf(block: Block): Options {
  const { provider, skein } = (block as { readonly metadata?: JsonObject }).metadata ?? {}
  const all = { ...(provider as SharedV4ProviderOptions | undefined), ...(skein !== undefined && { skein }) }
  return Object.keys(all).length === 0 ? {} : { providerOptions: all as SharedV4ProviderOptions }
}

function isText(block: Block): block is Extract<Block, { type: 'text'; text: string }> {
  return block.type === 'text' && typeof block.text === 'string'
}
