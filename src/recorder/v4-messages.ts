import type {
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4ToolResultOutput,
  SharedV4FileData,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider'
import { type Block, isKnown, type MediaBlock, type ToolResultBlock } from '../core/block.ts'
import type { Json, JsonObject } from '../core/json.ts'
import type { Role } from '../core/message.ts'
import { formOf } from './v4-blocks.ts'

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
      const executed = block.metadata?.providerExecuted === true && { providerExecuted: true }
      return [
        {
          type: 'tool-call',
          toolCallId: callId,
          toolName: name,
          input: objectOf(input),
          ...executed,
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

function writeOther(block: JsonObject, options: Options): readonly Part[] {
  if (block.type === 'custom')
    return [{ type: 'custom', kind: block.kind as `${string}.${string}`, ...options }]
  if (block.type === 'reasoning_file') {
    const data = dataOf(block as unknown as MediaBlock) as Exclude<
      SharedV4FileData,
      { type: 'reference' | 'text' }
    >
    return [{ type: 'reasoning-file', mediaType: String(block.mime), data, ...options }]
  }
  if (block.type === 'file_reference') {
    const data = { type: 'reference', reference: block.reference as Record<string, string> } as const
    const filename = typeof block.name === 'string' ? { filename: block.name } : {}
    return [{ type: 'file', mediaType: String(block.mime), data, ...filename, ...options }]
  }
  if (block.type === 'tool_approval_response') {
    const { approvalId, approved, reason } = block
    // Only those that concern a provider's own tool are ever seen by a model; the SDK drops others.
    const part = { type: 'tool-approval-response', approvalId, approved, providerExecuted: true, ...options }
    return [{ ...part, ...(reason !== undefined && { reason }) } as unknown as Part]
  }
  return []
}

function writeFile(block: MediaBlock, options: Options): LanguageModelV4FilePart {
  const filename = block.name === undefined ? {} : { filename: block.name }
  return { type: 'file', mediaType: block.mime, data: dataOf(block), ...filename, ...options }
}

function dataOf(block: MediaBlock): SharedV4FileData {
  if (block.data === undefined) return { type: 'url', url: new URL(block.url ?? 'about:blank') }
  if (block.metadata?.inline === true)
    return { type: 'text', text: Buffer.from(block.data, 'base64').toString() }
  return { type: 'data', data: block.data }
}

function outputOf(block: ToolResultBlock): LanguageModelV4ToolResultOutput {
  const { output, isError = false, metadata } = block
  const given = metadata?.outputProvider as SharedV4ProviderOptions | undefined
  const options = given === undefined ? {} : { providerOptions: given }
  const type = (metadata?.output as string | undefined) ?? formOf(output, isError)
  if (type === 'execution-denied') {
    const reason = output === '' ? {} : { reason: String(output) }
    return { type, ...reason, ...options }
  }
  const value = type === 'content' && Array.isArray(output) ? output.map(contentOf) : output
  return { type, value, ...options } as unknown as LanguageModelV4ToolResultOutput
}

/** A piece of a result in several: the place of a file is a URL again. */
function contentOf(piece: Json): unknown {
  const { data } = piece as { readonly data?: JsonObject }
  if (data?.type !== 'url') return piece
  return { ...(piece as JsonObject), data: { ...data, url: new URL(String(data.url)) } }
}

type Options = { readonly providerOptions?: SharedV4ProviderOptions }

function optionsOf(block: Block): Options {
  const { metadata } = block as { readonly metadata?: JsonObject }
  const provider = metadata?.provider
  return typeof provider === 'object' && provider !== null && !Array.isArray(provider)
    ? { providerOptions: provider as unknown as SharedV4ProviderOptions }
    : {}
}

function isText(block: Block): block is Extract<Block, { type: 'text'; text: string }> {
  return block.type === 'text' && typeof block.text === 'string'
}
