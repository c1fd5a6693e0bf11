import { hashMessage } from '../../core/hash.ts'
import type { ConversationId, MessageId } from '../../core/ids.ts'
import type { PreparedMessage } from '../../core/prepare.ts'
import { countChanges, first, type Program, run } from '../engine/engine.ts'
import type { Conv, HeadFields, LockRow, PositionRow } from '../engine/rows.ts'
import { putBlob } from './blob-parts.ts'

/** The position before any message, the parent of roots. */
export const beforeRoots: PositionRow = { seq: -1, id: null, run: 0, depth: -1, path_tokens: 0 }

/** Where a message goes, besides its parent. */
export interface MessageSlot {
  readonly conv: Conv
  readonly conversationId: ConversationId
  readonly seq: number
  readonly turn: number | null
  readonly step: number | null
  readonly now: number
  /** The next free time of equal messages under the same parent, by their content. Lets a call that stores
   *  many equal messages skip the times that it has used. */
  readonly twins?: Map<string, number>
}

/** Stores a message under a parent and returns its position. The conversation must be locked. The caller
 *  updates the counters. */
export function* insertMessage(
  message: PreparedMessage,
  parent: PositionRow,
  slot: MessageSlot,
): Program<PositionRow & { id: MessageId }> {
  const { conv, seq, turn, step, now, twins } = slot
  const above = (parent.id ?? slot.conversationId) as MessageId | ConversationId
  const follows = parent.id !== null && parent.seq === seq - 1
  const start = follows ? parent.run : seq
  const depth = parent.depth + 1
  const path_tokens = parent.path_tokens + message.tokens
  const idAt = (at: number) => hashMessage(above, message.role, at, message.body.hash)
  // Two messages with equal content are two messages: if the id is taken, the later one gets the next
  // millisecond.
  const asked = message.time ?? now
  const kind = twins && `${above} ${message.role} ${asked} ${message.body.hash}`
  for (let at = twins?.get(kind!) ?? asked, tries = 1; ; at++, tries++) {
    if (tries > soon) at = yield* freeTime(at - 1, idAt)
    const id = idAt(at)
    const stored = yield* countChanges('insertMessage', {
      conv,
      id,
      seq,
      parent_seq: parent.seq,
      run: start,
      depth,
      role: message.role,
      at,
      tokens: message.tokens,
      path_tokens,
      turn,
      step,
      label: message.label,
      body_hash: message.body.hash,
      body: message.body.text,
    })
    if (stored === 0) continue
    twins?.set(kind!, at + 1)
    for (const blob of message.body.blobs) {
      yield* putBlob(blob)
      yield* run('putBlobRef', { conv, seq, hash: blob.hash })
    }
    return { seq, id, run: start, depth, path_tokens }
  }
}

/** How often to try the next millisecond before searching. */
const soon = 4

/** The first free time after a range of taken ones, by doubling steps and then halving them. If a parent
 *  has a thousand equal children, trying each time would take a million tries for the next thousand. */
function* freeTime(taken: number, idAt: (at: number) => MessageId): Program<number> {
  let last = taken
  let free = taken + 1
  for (let step = 2; yield* isTaken(idAt(free)); step *= 2) {
    last = free
    free = taken + step
  }
  while (free - last > 1) {
    const middle = Math.floor((last + free) / 2)
    if (yield* isTaken(idAt(middle))) last = middle
    else free = middle
  }
  return free
}

function* isTaken(id: MessageId): Program<boolean> {
  return (yield* first('locate', { id })) !== undefined
}

/** The statement that updates the counters of a locked conversation. */
export function growthOf(row: Pick<LockRow, 'next_seq' | 'indexed_seq'>): 'grow' | 'growIndexed' {
  return row.indexed_seq >= row.next_seq ? 'growIndexed' : 'grow'
}

/** The head of a branch, as the parent of the next message. */
export function headPosition(branch: HeadFields): PositionRow {
  return {
    seq: branch.head_seq,
    id: branch.head_id,
    run: branch.head_run,
    depth: branch.head_depth,
    path_tokens: branch.head_path_tokens,
  }
}

/** A position, as the head of a branch. */
export function headFields(place: PositionRow): HeadFields {
  return {
    head_seq: place.seq,
    head_id: place.id,
    head_run: place.run,
    head_depth: place.depth,
    head_path_tokens: place.path_tokens,
  }
}
