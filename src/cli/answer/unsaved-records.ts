import { hashMessage } from '../../core/hash.ts'
import type { ConversationId, MessageId } from '../../core/ids.ts'
import { isNonEmpty, type NewMessage } from '../../core/message.ts'
import type { ConversationReader } from '../../core/ports.ts'
import { prepareMessages } from '../../core/prepare.ts'
import type { ConversationRecord, RecordMover, StoreRecord } from '../../core/record.ts'
import { nativeEncoder } from '../../formats/native/encode.ts'
import type { Unsaved, UnsavedBranch } from '../../recorder/waiting-turns.ts'
import type { CommandContext } from '../command-line/command-context.ts'

type UnsavedReader = Pick<ConversationReader, 'getBranch'> & Pick<RecordMover, 'readRecords'>

/** The text of a native file. */
export interface UnsavedText {
  readonly text: string
  /** True if importing it continues the conversations of the messages. */
  readonly joins: boolean
}

/** Unsaved messages in the native format, to store them later. */
export async function unsavedText(unsaved: Unsaved, context: CommandContext): Promise<UnsavedText> {
  const encoder = nativeEncoder()
  const joined = await joiningRecords(unsaved, context)
  const records = joined ?? (await ownConversation(unsaved.messages, context))
  const lines = [
    encoder.header(context.now(), 'skein'),
    ...records.flatMap(record => [...encoder.record(record)]),
    encoder.end(),
  ]
  return { text: `${lines.join('\n')}\n`, joins: joined !== null }
}

/** Records that name the stored message that each branch continues, so that importing them adds to its
 *  conversation. A branch that has moved meanwhile gets a sibling. Null if a store that cannot be written
 *  cannot be read either. */
async function joiningRecords(
  { branches }: Unsaved,
  context: CommandContext,
): Promise<readonly StoreRecord[] | null> {
  try {
    const store: UnsavedReader = await context.store()
    const records = await Promise.all(branches.map(one => recordsOf(one, store, context.now())))
    return records.length > 0 ? records.flat() : null
  } catch {
    // The messages matter more than their place.
    return null
  }
}

async function recordsOf(
  { branch: { conversationId, name }, head, messages }: UnsavedBranch,
  store: UnsavedReader,
  at: number,
): Promise<readonly StoreRecord[]> {
  const branch = await store.getBranch({ conversationId, name })
  const conversation = await conversationRecord(store, conversationId)
  const written = messageRecords(messages, conversationId, head ?? branch.head, at)
  return [
    conversation,
    ...written.records,
    {
      kind: 'branch',
      conversationId,
      name,
      head: written.head,
      ...{ key: null, formerKey: null, trashedKey: null, title: null },
      createdAt: branch.createdAt.getTime(),
      updatedAt: at,
    },
  ]
}

async function conversationRecord(
  store: Pick<RecordMover, 'readRecords'>,
  id: ConversationId,
): Promise<ConversationRecord> {
  for await (const record of store.readRecords(id)) if (record.kind === 'conversation') return record
  throw new Error('unreachable: the first record of a conversation is its own')
}

/** A chain of messages after a stored one. */
function messageRecords(
  messages: readonly NewMessage[],
  conversationId: ConversationId,
  after: MessageId | null,
  at: number,
): { readonly records: readonly StoreRecord[]; readonly head: MessageId | null } {
  const records: StoreRecord[] = []
  let head = after
  for (const [seq, { role, body, time, tokens, label }] of prepareMessages(messages).entries()) {
    const parentId = head
    const said = time ?? at
    head = hashMessage(parentId ?? conversationId, role, said, body.hash)
    for (const { hash, data } of body.blobs) records.push({ kind: 'blob', hash, data })
    records.push({
      kind: 'message',
      conversationId,
      seq,
      id: head,
      parentId,
      role,
      at: said,
      tokens,
      turn: null,
      step: null,
      label,
      bodyHash: body.hash,
      body: body.text,
      erased: null,
    })
  }
  return { records, head }
}

async function ownConversation(
  messages: readonly NewMessage[],
  { cwd }: CommandContext,
): Promise<readonly StoreRecord[]> {
  const { openStore } = await import('../../stores/open.ts')
  await using memory = await openStore(':memory:')
  const { conversation, branch } = await memory.create({ directory: cwd, channel: 'cli' })
  if (isNonEmpty(messages)) await memory.append(branch, null, messages)
  const records: StoreRecord[] = []
  for await (const record of memory.readRecords(conversation.id))
    if (record.kind !== 'unreadable') records.push(record)
  return records
}
