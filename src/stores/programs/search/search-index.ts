import type { Block } from '../../../core/block.ts'
import { decodeBody } from '../../../core/body.ts'
import { textsOf } from '../../../core/search/texts.ts'
import { indexTokens } from '../../../core/search/tokenize.ts'
import { all, first, type Program, run } from '../../engine/engine.ts'
import type { Conv, LooseMessageRow } from '../../engine/rows.ts'
import { loadBlobs } from '../content.ts'

/** Messages to index in one transaction, which locks their conversations. */
const batch = 200

/** Bytes of a blob to index. The tokenizer reads no more of a text. */
const indexedBytes = 262_144

/** Tokens for the properties of a message, in addition to its texts. No word of a text contains `=`. */
export const scopes = {
  everything: '=all',
  role: (role: string) => `=r${role}`,
  conversation: (conv: Conv) => `=c${conv}`,
}

export function* hasUnindexed(): Program<boolean> {
  return (yield* all('unindexed', { after: null, limit: 1 })).length > 0
}

/** The progress of a pass over all conversations. */
export interface IndexPass {
  readonly after: Conv | null
  /** The current conversation, and the seq at which the pass ends in it. */
  readonly within: { readonly conv: Conv; readonly end: number } | null
}

export const newPass: IndexPass = { after: null, within: null }

/** Indexes a bounded number of messages above the marks. Returns how many, and where to continue, or null
 *  at the end. A pass visits each conversation once and ends at the seq that it had then, so a concurrent
 *  writer cannot keep it busy. */
export function* indexSome(pass: IndexPass): Program<{ count: number; next: IndexPass | null }> {
  let { after } = pass
  let left = batch
  const found = yield* all('unindexed', { after, limit: batch })
  for (const { conv, id } of found) {
    // Messages erased or deleted from here on are removed from the index again. Without the lock, their
    // words could be added after that.
    const row = yield* first('lockConversation', { id })
    const end = pass.within?.conv === conv ? pass.within.end : (row?.next_seq ?? 0)
    // Another process may have indexed it meanwhile.
    if (row && row.indexed_seq < end) {
      const rows = yield* all('messagesBetween', { conv, lo: row.indexed_seq, hi: end - 1, limit: left })
      yield* indexRows(conv, rows)
      const whole = rows.length < left
      yield* run('setIndexed', { conv, indexed_seq: whole ? end : rows.at(-1)!.seq + 1 })
      left -= rows.length
      if (!whole) return { count: batch, next: { after, within: { conv, end } } }
    }
    after = conv
  }
  return { count: batch - left, next: found.length < batch ? null : { after, within: null } }
}

function* indexRows(conv: Conv, rows: readonly LooseMessageRow[]): Program<void> {
  const texts = yield* readTexts(rows)
  for (const [i, row] of rows.entries()) {
    const words = texts[i]
    if (!words) continue
    const marks = [scopes.everything, scopes.role(row.role), scopes.conversation(conv)]
    const tokens = [...marks, ...indexTokens(words)].join(' ')
    yield* run('putSearchEntry', { conv, seq: row.seq, at: row.at, tokens })
  }
}

/** The texts of each message, or null if it was erased or cannot be read. */
export function* readTexts(rows: readonly { readonly body: string | null }[]): Program<(string[] | null)[]> {
  const loadBlob = yield* loadBlobs(rows, indexedBytes)
  return rows.map(({ body }) => {
    if (body === null) return null
    let blocks: readonly Block[]
    try {
      blocks = decodeBody(body, loadBlob, 'beginnings').blocks
    } catch {
      // `verify` reports damage. A search must still find everything else.
      return null
    }
    return textsOf(blocks)
  })
}

export function* clearIndex(): Program<void> {
  yield* run('clearSearch', {})
  yield* run('resetIndexed', {})
}
