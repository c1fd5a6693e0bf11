import type {
  LanguageModelV4Message,
  LanguageModelV4ToolResultOutput,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider'
import { type Block, isKnown, type MediaBlock, type ToolResultBlock } from '../core/block.ts'
import type { Json, JsonObject } from '../core/json.ts'
import type { Role } from '../core/message.ts'
import { denied, fileData, formOf, isReasoningFile } from './v4-pieces.ts'

/** What was said, as the AI SDK takes it: as `messages` of `generateText` and `streamText`, and as the prompt of a model.
 *  Reads what `readPrompt` and `readAnswer` have made, and any other blocks of ours. Sources and blocks of unknown
 *  types are left out: no provider takes them back. */
export function writeMessages(
  messages: readonly { readonly role: Role; readonly blocks: readonly Block[] }[],
): LanguageModelV4Message[] {
  const written: LanguageModelV4Message[] = []
  for (const message of messages) {
    const next = writeMessage(message.role, message.blocks)
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
  if (!isKnown(block)) return writeOther(block as JsonObject, options)
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

/** What was no JSON when the model wrote it goes back as the SDK itself sends it: as an empty object. */
function objectOf(input: Json): Json {
  return typeof input === 'object' && input !== null ? input : {}
}

/** Blocks that only a provider can read. */
function writeOther(block: JsonObject, options: Options): readonly Part[] {
  const { callId: toolCallId, name: toolName } = block as Record<string, string>
  switch (block.type) {
    case 'provider_call': {
      const call = { type: 'tool-call', toolCallId, toolName, input: objectOf(block.input!) }
      return [{ ...call, providerExecuted: true, ...options } as Part]
    }
    case 'provider_result': {
      const output = outputOf(block as unknown as ToolResultBlock)
      return [{ type: 'tool-result', toolCallId, toolName, output, ...options } as Part]
    }
    case 'provider_custom':
      return [{ type: 'custom', kind: block.kind as `${string}.${string}`, ...options }]
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
    default:
      return []
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
  const type = (metadata?.output as string | undefined) ?? formOf(output, isError)
  if (type === 'execution-denied') {
    const reason = output === denied ? {} : { reason: String(output) }
    return { type, ...reason, ...options }
  }
  const value = type === 'content' && Array.isArray(output) ? output.map(contentOf) : output
  return { type, value, ...options } as unknown as LanguageModelV4ToolResultOutput
}

/** A piece of a result in several. */
function contentOf(piece: Json): unknown {
  const block = piece as unknown as Block
  return isKnown(block) || block.type === 'provider_file' ? writeBlock(block, 'user')[0] : piece
}

type Options = { readonly providerOptions?: SharedV4ProviderOptions }

/** What goes with a part: to the provider what is its own, and to us that a result was made up for this view. */
function optionsOf(block: Block): Options {
  const { provider, skein } = (block as { readonly metadata?: JsonObject }).metadata ?? {}
  const all = { ...(provider as SharedV4ProviderOptions | undefined), ...(skein !== undefined && { skein }) }
  return Object.keys(all).length === 0 ? {} : { providerOptions: all as SharedV4ProviderOptions }
}

function isText(block: Block): block is Extract<Block, { type: 'text'; text: string }> {
  return block.type === 'text' && typeof block.text === 'string'
}
