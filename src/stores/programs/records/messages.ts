import type {
  BlobRecord,
  ConversationRecord,
  MessageRecord,
  RecordOutcome,
  TombstoneRecord,
} from '../../../core/record.ts'
import { fold } from '../../../core/search/fold.ts'
import { countChanges, first, type Program, run } from '../../engine/engine.ts'
import type { LocatedRow } from '../../engine/rows.ts'
import { putBlob } from '../blob-parts.ts'
import { putDetails, putPrompt, tagSet } from '../conversations.ts'
import { beforeRoots, headFields } from '../insert-message.ts'
import { lockKnownBlobs, readKnownParts, readKnownPositions } from './known-positions.ts'
import {
  added,
  advanced,
  blobsOf,
  bury,
  placeIn,
  present,
  type RecordTarget,
  type RecordWrite,
  recordTarget,
  refused,
  seqOf,
} from './record-write.ts'

/** An existing conversation keeps its fields. Only totals that never decrease are raised. */
export function* putConversationRecord(
  move: RecordWrite,
  record: ConversationRecord,
): Program<RecordOutcome> {
  const target = move.targets.get(record.id)
  if (target === 'purging') return refused(`conversation ${record.id} is being removed for good`)
  if (!target) {
    if (yield* insert(move, record)) return added
    // Another process created it meanwhile, after the known messages were read.
    const row = yield* first('lockConversation', { id: record.id })
    if (!row) return refused('another process has just made and removed it')
    const made = recordTarget(row, { born: false })
    move.targets.set(record.id, made)
    yield* readKnownPositions(move.places, move.records)
    yield* readKnownParts(made, move.records)
    yield* lockKnownBlobs(move.kept, move.records)
    return present
  }
  const { conv } = target
  const { tokensUsed: tokens_used, cost, updatedAt: updated_at } = record
  if ((yield* countChanges('raiseTotals', { conv, tokens_used, cost, updated_at })) === 0) return present
  target.changed = true
  return advanced
}

function* insert(move: RecordWrite, record: ConversationRecord): Program<boolean> {
  const { id, title, prompt, createdAt } = record
  if (prompt) yield* putPrompt(prompt.text)
  const inserted = yield* first('insertConversationRecord', {
    id,
    kind: record.conversationKind,
    title,
    title_folded: title === null ? null : fold(title),
    model: record.model,
    label: record.label,
    channel: record.channel,
    directory: record.directory,
    project: record.project,
    task: record.task,
    owner: record.owner,
    parent_id: record.parent?.conversationId ?? null,
    parent_message: record.parent?.messageId ?? null,
    prompt_policy: record.promptPolicy,
    prompt_hash: prompt?.hash ?? null,
    tool_results: JSON.stringify(record.toolResults),
    metadata: JSON.stringify(record.metadata),
    tags: JSON.stringify(tagSet(record.tags)),
    active_branch: record.activeBranch,
    tokens_used: record.tokensUsed,
    cost: record.cost,
    created_at: createdAt,
    updated_at: record.updatedAt,
    expires_at: record.expiresAt,
    ttl_ms: record.ttlMs,
    renew_ms: record.renewMs,
    trashed_at: record.trashedAt,
  })
  if (!inserted) return false
  const { conv } = inserted
  yield* putDetails(conv, { tags: record.tags, metadata: record.metadata })
  // A conversation always has its active branch, even if the record of the branch never arrives. That
  // record fills it in.
  yield* run('putBranchRecord', {
    conv,
    name: record.activeBranch,
    ...headFields(beforeRoots),
    ...{ key: null, former_key: null, trashed_key: null, title: null },
    created_at: createdAt,
    updated_at: createdAt,
  })
  const row = {
    ...{ conv, id, title, active_branch: record.activeBranch, next_seq: 0, next_event: 0, indexed_seq: 0 },
    ...{ trashed_at: record.trashedAt, purging: 0 },
  }
  move.targets.set(id, recordTarget(row, { born: true }))
  return true
}

/** Stores a message with the next seq. In a new conversation this is the seq of the record. */
export function* putMessageRecord(
  move: RecordWrite,
  target: RecordTarget,
  record: MessageRecord,
): Program<RecordOutcome> {
  const { id, parentId } = record
  const here = move.places.get(id)
  if (here)
    return here.conversation_id === target.id ? present : refused('it belongs to another conversation')
  const parent = parentId === null ? beforeRoots : placeIn(move, target, parentId)
  if (!parent) return refused(`its parent ${parentId} is missing`)
  const seq = target.nextSeq
  const turn =
    record.turn === id ? seq : record.turn === null ? null : (placeIn(move, target, record.turn)?.seq ?? -1)
  if (turn === -1) return refused(`the first message of its turn, ${record.turn}, is missing`)
  const hashes = blobsOf(record)
  const missing = hashes.find(hash => !move.blobs.has(hash) && !move.kept.has(hash))
  if (missing !== undefined) return refused(`blob ${missing} is missing`)
  const follows = parentId !== null && parent.seq === seq - 1
  const place: LocatedRow = {
    id,
    conv: target.conv,
    conversation_id: target.id,
    seq,
    parent_seq: parent.seq,
    run: follows ? parent.run : seq,
    depth: parent.depth + 1,
    path_tokens: parent.path_tokens + record.tokens,
    turn,
  }
  yield* run('insertMessageRecord', {
    conv: place.conv,
    seq,
    parent_seq: place.parent_seq,
    run: place.run,
    depth: place.depth,
    path_tokens: place.path_tokens,
    turn,
    id,
    role: record.role,
    at: record.at,
    tokens: record.tokens,
    step: record.step,
    label: record.label,
    body_hash: record.bodyHash,
    body: record.body,
    erased: record.erased === null ? null : JSON.stringify(record.erased),
  })
  for (const hash of hashes) yield* refer(move, target, seq, hash)
  move.places.set(id, place)
  target.nextSeq++
  target.added++
  target.tokens += record.tokens
  target.changed = true
  return added
}

function* refer(move: RecordWrite, { conv }: RecordTarget, seq: number, hash: string): Program<void> {
  const blob = move.blobs.get(hash)
  if (blob && !move.kept.has(hash) && !move.stored.has(hash)) {
    yield* putBlob(blob)
    move.stored.add(hash)
  }
  yield* run('putBlobRef', { conv, seq, hash })
}

/** A blob is only stored with a message that refers to it, because it would never be removed otherwise. */
export function blobOutcome(move: RecordWrite, { hash }: BlobRecord): RecordOutcome {
  if (move.stored.has(hash)) return added
  return move.kept.has(hash) ? present : refused('no message that was taken refers to it')
}

/** A message that was deleted in the source but exists here stays. */
export function* putTombstoneRecord(
  move: RecordWrite,
  target: RecordTarget,
  record: TombstoneRecord,
): Program<RecordOutcome> {
  const { id, parent } = record
  if (target.buried.has(id) || placeIn(move, target, id)) return present
  const parentSeq = parent === null ? -1 : seqOf(move, target, parent)
  if (parentSeq === null) return refused(`its parent ${parent?.id} is missing`)
  const { conv, nextSeq: seq } = target
  yield* run('insertTombstone', {
    conv,
    seq,
    parent_seq: parentSeq,
    id,
    at: record.at,
    reason: record.reason,
  })
  bury(target, id, seq)
  target.nextSeq++
  target.changed = true
  return added
}
