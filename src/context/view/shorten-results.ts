import type { ToolResultBlock } from '../../core/block.ts'
import { previewBytes } from '../../core/body.ts'
import type { Json } from '../../core/json.ts'
import type { BlobRef, Message } from '../../core/message.ts'
import type { MessageReader } from '../../core/ports.ts'
import { estimateTokens } from '../../core/tokens.ts'
import { isResult } from './pairs.ts'

/** The default mark after the beginning of a result. */
function restOf({ bytes }: BlobRef): string {
  return `\n[shortened: ${previewBytes} of ${bytes} bytes are shown]`
}

/** Completes messages that were read as previews. Results that are stored in blobs keep only their beginning,
 *  with a mark after it. Messages with any other incomplete part are read again in full: half a question,
 *  half an image or half a signed thought is useless. */
export async function shortenResults(
  reader: Pick<MessageReader, 'getMessages'>,
  messages: readonly Message[],
  mark: (rest: BlobRef) => string = restOf,
): Promise<readonly Message[]> {
  if (messages.every(message => cutsOf(message).length === 0)) return messages
  const torn = messages.filter(message => cutsOf(message).some(cut => resultAt(message, cut) === null))
  const mended = new Map(
    torn.length === 0 ? [] : (await reader.getMessages(torn.map(m => m.id))).map(m => [m.id, m]),
  )
  return messages.map(message => mended.get(message.id) ?? marked(message, mark))
}

/** The incomplete payloads among the blocks. Metadata is not sent to a model. */
function cutsOf(message: Message): readonly BlobRef[] {
  return message.blobs.filter(blob => !blob.whole && blob.pointer.startsWith('/blocks'))
}

/** The index of the result that a payload belongs to, or null if it does not belong to a result. */
function resultAt(message: Message, { pointer }: BlobRef): number | null {
  const [, , index, field] = pointer.split('/')
  const block = message.content[Number(index)]
  return block !== undefined && isResult(block) && field === 'output' ? Number(index) : null
}

function marked(message: Message, mark: (rest: BlobRef) => string): Message {
  const cuts = cutsOf(message)
  if (cuts.length === 0) return message
  const blocks = message.content.map((block, i) => {
    const mine = cuts.filter(cut => resultAt(message, cut) === i)
    return mine.length > 0 && isResult(block) ? shortened(block, mine, mark) : block
  })
  // The stored count is of the whole results.
  return { ...message, content: blocks, tokens: estimateTokens(blocks) }
}

/** A result with several parts becomes text, because it may contain half of an image. */
function shortened(
  block: ToolResultBlock,
  cuts: readonly BlobRef[],
  mark: (rest: BlobRef) => string,
): ToolResultBlock {
  const output = cuts.reduce<Json>(
    (value, cut) => markAt(value, steps(cut.pointer).slice(4), mark(cut)),
    block.output,
  )
  return { ...block, output: typeof output === 'string' ? output : JSON.stringify(output) }
}

function markAt(value: Json, [step, ...rest]: readonly string[], mark: string): Json {
  if (step === undefined) return typeof value === 'string' ? value + mark : value
  if (Array.isArray(value)) {
    return value.map((item, i) => (String(i) === step ? markAt(item, rest, mark) : item))
  }
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value)
  return Object.fromEntries(
    fields.map(([key, item]) => [key, key === step ? markAt(item, rest, mark) : item]),
  )
}

/** A JSON pointer's steps; the first is empty. */
function steps(pointer: string): readonly string[] {
  return pointer.split('/').map(step => step.replaceAll('~1', '/').replaceAll('~0', '~'))
}
