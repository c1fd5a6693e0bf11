import type { ConversationId } from '../../../core/ids.ts'
import { all, first, type Program } from '../../engine/engine.ts'
import { conversationFromRow } from '../../engine/row-to-value.ts'
import type { Conv } from '../../engine/rows.ts'
import type { RawConversationRow } from '../../engine/statements-verify.ts'
import { eventFromRow } from '../events.ts'
import { pieceOf } from '../turns.ts'
import { checkReadable, type FindingList } from './findings.ts'

/** Checks that fields can be read that have no hash. A change that leaves a readable value is not found. */

/** Rows to read at a time. */
const page = 200

export function* checkSettings({ id }: RawConversationRow, findings: FindingList): Program<void> {
  const row = yield* first('conversationById', { id })
  // The tags are compared with a list of their own.
  if (row) checkReadable(findings, () => conversationFromRow({ ...row, tags: '[]' }))
}

export function* checkEventFields({ conv, id }: RawConversationRow, findings: FindingList): Program<void> {
  for (let after = -1; ; ) {
    const rows = yield* all('events', { conv, types: null, after, limit: page })
    for (const row of rows) checkReadable(findings, () => eventFromRow(id as ConversationId, row))
    if (rows.length < page) return
    after = rows.at(-1)!.n
  }
}

export function* checkDraftFields(conv: Conv, turn: string, findings: FindingList): Program<void> {
  for (let after = -1; ; ) {
    const rows = yield* all('draftsAfter', { conv, turn, after, limit: page })
    for (const row of rows) checkReadable(findings, () => pieceOf(turn, row))
    if (rows.length < page) return
    after = rows.at(-1)!.n
  }
}
