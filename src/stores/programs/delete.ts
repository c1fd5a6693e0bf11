import { type LoadedBlob, previewBytes } from '../../core/body.ts'
import { InvalidError } from '../../core/errors.ts'
import type { ConversationId, MessageId } from '../../core/ids.ts'
import type { Role } from '../../core/message.ts'
import { readBody } from '../../core/read-body.ts'
import type { DeletedMessages, ErasedMessages, MovedBranch } from '../../core/removal.ts'
import { containsSeq, highestOutside, type SeqRange, subtreeRanges } from '../../core/runs.ts'
import { all, countChanges, first, type Program, run } from '../engine/engine.ts'
import { heldByAnother, nameOfTurn } from '../engine/row-to-value.ts'
import type { Conv, LocatedRow, LockRow, LooseMessageRow } from '../engine/rows.ts'
import { dropBlobs, loadBlobs, readLoose } from './content.ts'
import {
  type ForgottenWords,
  forgetWords,
  mayRepeat,
  type RemovedMessage,
  readRepeatingWords,
} from './forget-words.ts'
import { beforeRoots, headFields } from './insert-message.ts'
import { lockLiving } from './lookup.ts'
import { runStarts } from './structure.ts'

export interface DeleteRequest {
  readonly ids: readonly MessageId[]
  readonly recursive: boolean
  readonly reason: string | null
  readonly now: number
}

/** Deletes messages and what is derived from them, grouped by conversation. Missing ids are ignored. */
export function* deleteMessages(request: DeleteRequest): Program<Omit<DeletedMessages, 'remains'>> {
  let [deleted, summaries] = [0, 0]
  const forgotten: ForgottenWords = { titles: 0, branches: [], events: 0 }
  const moved: MovedBranch[] = []
  for (const [conversationId, located] of yield* byConversation(request.ids)) {
    const conversation = yield* lockLiving(conversationId)
    const { conv } = conversation
    const ranges = yield* rangesToDelete(conversation, located, request.recursive)
    yield* checkNotOpen(conv, ranges)
    yield* forgetRanges(conversation, ranges, forgotten)
    moved.push(...(yield* moveHeads(conversation, ranges, request.now)))
    for (const { lo, hi } of ranges) {
      const facts = yield* first('spanFacts', { conv, lo, hi })
      deleted += facts!.count
      summaries += yield* countChanges('deleteSummaries', { conv, lo, hi })
      yield* run('clearSeen', { conv, lo, hi })
      yield* run('deleteSearchEntries', { conv, lo, hi })
      yield* dropBlobs({ conv, lo, hi })
      yield* run('buryMessages', { conv, lo, hi, now: request.now, reason: request.reason })
      yield* run('deleteMessages', { conv, lo, hi })
      yield* run('shrink', { conv, removed: facts!.count, tokens: facts!.tokens })
    }
  }
  return { deleted, moved, summaries, ...forgotten }
}

/** Messages to read at a time in search of words that are repeated elsewhere. */
const wordBatch = 200

/** Removes what repeats the messages of these ranges. */
function* forgetRanges(
  conversation: LockRow,
  ranges: readonly SeqRange[],
  forgotten: ForgottenWords,
): Program<void> {
  const { conv } = conversation
  const words = yield* readRepeatingWords(conversation)
  for (const { lo, hi } of ranges) {
    for (let from = lo; from <= hi && mayRepeat(words); ) {
      const rows = yield* all('messagesBetween', { conv, lo: from, hi, limit: wordBatch })
      const loadBlob = yield* loadBlobs(rows, previewBytes)
      yield* forgetWords(
        words,
        rows.flatMap(row => removedMessage(row, loadBlob) ?? []),
        forgotten,
      )
      if (rows.length < wordBatch) break
      from = rows.at(-1)!.seq + 1
    }
  }
}

function removedMessage(
  { role, body }: LooseMessageRow,
  loadBlob: (hash: string) => LoadedBlob,
): RemovedMessage | null {
  if (body === null) return null
  try {
    return { role: role as Role, content: readBody(body, loadBlob, 'beginnings').blocks }
  } catch {
    // A damaged message can be deleted too. `verify` reports it.
    return null
  }
}

/** In order of conversation ids, so that concurrent callers lock in the same order. */
function* byConversation(ids: readonly MessageId[]): Program<[ConversationId, LocatedRow[]][]> {
  const groups = new Map<ConversationId, LocatedRow[]>()
  for (const id of new Set(ids)) {
    const found = yield* first('locate', { id })
    if (!found) continue
    const conversationId = found.conversation_id as ConversationId
    groups.set(conversationId, [...(groups.get(conversationId) ?? []), found])
  }
  return [...groups].sort(([a], [b]) => (a < b ? -1 : 1))
}

function* rangesToDelete(
  conversation: LockRow,
  located: readonly LocatedRow[],
  recursive: boolean,
): Program<SeqRange[]> {
  const { conv, next_seq } = conversation
  if (recursive) {
    // Everything below a message is after it.
    const starts = yield* runStarts(conv, Math.min(...located.map(row => row.run)))
    return subtreeRanges(
      starts,
      next_seq,
      located.map(row => row.seq),
    )
  }
  const named = new Set(located.map(row => row.seq))
  for (const row of located) {
    const children = yield* all('children', { conv, seq: row.seq })
    if (children.some(child => !named.has(child.seq))) {
      throw new InvalidError('ids', `message ${row.id} has children: delete it recursively, or not at all`)
    }
  }
  return [...named].sort((a, b) => a - b).map(seq => ({ lo: seq, hi: seq }))
}

function* checkNotOpen(conv: Conv, ranges: readonly SeqRange[]): Program<void> {
  for (const turn of yield* all('openTurns', { conv })) {
    if (ranges.some(({ lo, hi }) => lo <= turn.last && turn.first <= hi && containsSeq(ranges, turn.last))) {
      throw heldByAnother(nameOfTurn(turn.key), turn)
    }
  }
}

/** Moves deleted heads to the nearest ancestor that remains. */
function* moveHeads(conversation: LockRow, ranges: readonly SeqRange[], now: number): Program<MovedBranch[]> {
  const { conv } = conversation
  const moved: MovedBranch[] = []
  for (const branch of yield* all('branches', { conv })) {
    if (!containsSeq(ranges, branch.head_seq)) continue
    const seq = highestOutside(yield* all('pathRuns', { conv, seq: branch.head_seq }), ranges)
    const [head = beforeRoots] = seq === null ? [] : yield* all('placesAt', { conv, seqs: [seq] })
    yield* run('setHead', { conv, name: branch.name, ...headFields(head), now })
    moved.push({
      branch: { conversationId: conversation.id as ConversationId, name: branch.name },
      from: branch.head_id as MessageId,
      to: head.id as MessageId | null,
    })
  }
  return moved
}

/** Removes the summaries that cover a message, including claimed, unfinished ones. Returns their number. */
function* dropSummariesOver(conv: Conv, seq: number): Program<number> {
  let dropped = 0
  for (const { first_seq, last_seq } of yield* all('summaries', { conv })) {
    if (seq < first_seq || seq > last_seq) continue
    const runs = yield* all('pathRuns', { conv, seq: last_seq })
    if (!containsSeq(runs, seq)) continue
    yield* run('deleteSummary', { conv, first_seq, last_seq })
    dropped++
  }
  return dropped
}

export interface EraseRequest {
  readonly ids: readonly MessageId[]
  readonly by: string
  readonly reason: string
  readonly now: number
}

/** Removes content and everything derived from it: search entries, blobs, summaries, the title, names of
 *  branches, quotes in events. */
export function* eraseMessages(request: EraseRequest): Program<Omit<ErasedMessages, 'remains'>> {
  const { by, reason, now } = request
  let [erased, summaries] = [0, 0]
  const forgotten: ForgottenWords = { titles: 0, branches: [], events: 0 }
  for (const [conversationId, located] of yield* byConversation(request.ids)) {
    const conversation = yield* lockLiving(conversationId)
    const { conv } = conversation
    const words = yield* readRepeatingWords(conversation)
    const [...messages] = yield* readLoose(
      yield* all('messagesByIds', { ids: located.map(row => row.id) }),
      'preview',
    )
    let next_event = conversation.next_event
    for (const message of messages) {
      if (message.erased) continue
      const { id, seq } = message
      const span = { conv, lo: seq, hi: seq }
      yield* run('deleteSearchEntries', span)
      yield* dropBlobs(span)
      summaries += yield* dropSummariesOver(conv, seq)
      yield* run('eraseMessage', { conv, seq, erased: JSON.stringify({ at: now, by, reason }) })
      yield* forgetWords(words, [message], forgotten)
      // Followers that have the message learn from the event that it is erased.
      const data = JSON.stringify({ message: id })
      yield* run('insertEvent', { conv, n: next_event++, type: 'message_erased', at: now, data })
      yield* run('setNextEvent', { conv, next_event })
      erased++
    }
  }
  return { erased, summaries, ...forgotten }
}
