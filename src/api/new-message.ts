import { isKnown, type NewBlock } from '../core/block.ts'
import type { NewMessage } from '../core/message.ts'
import type { NewBlockBody, NewMessageBody } from './schema/request/index.ts'

/** The message that a body describes. Blocks of unknown types are passed on unchanged. */
export function newMessageOf(body: NewMessageBody): NewMessage {
  const { role, content, blocks, metadata, created_at, tokens, label } = body
  return {
    role,
    content: newContentOf({ content, blocks }),
    ...(metadata != null && { metadata }),
    ...(created_at !== undefined && { createdAt: new Date(created_at) }),
    ...(tokens !== undefined && { tokens }),
    ...(label != null && { label }),
  }
}

/** The content that a body describes: a text or blocks. */
export function newContentOf({
  content,
  blocks,
}: {
  readonly content?: string | undefined
  readonly blocks?: readonly NewBlockBody[] | undefined
}): string | readonly NewBlock[] {
  return content ?? (blocks ?? []).map(newBlockOf)
}

/** The names of the fields that differ between JSON and core. */
const names: Readonly<Record<string, string>> = { call_id: 'callId', is_error: 'isError', meta: 'metadata' }

/** Null is a value of these fields; in the others it means that the field is absent. */
const nullable: ReadonlySet<string> = new Set(['input', 'output'])

function newBlockOf(body: NewBlockBody): NewBlock {
  if (!isKnown(body as NewBlock)) return body
  const block: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(body)) {
    if (value === undefined || (value === null && !nullable.has(name))) continue
    block[names[name] ?? name] = value
  }
  return block as NewBlock
}
