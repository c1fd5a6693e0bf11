import type { Block } from '../../../core/block.ts'
import { decodeBody } from '../../../core/body.ts'
import { textsOf } from '../../../core/search/texts.ts'
import { indexTokens } from '../../../core/search/tokenize.ts'
import { all, first, type Program, run } from '../../engine/engine.ts'
import type { Conv, LooseMessageRow } from '../../engine/rows.ts'
import { loadBlobs } from '../content.ts'

/** Messages that one transaction indexes: their conversations are locked meanwhile. */
const batch = 200

/** How much of a blob is looked at; the tokeniser reads no more of a text. */
export const indexedBytes = 262_144

/** Marks in the index for what a message is, besides what it says. No word of a text holds a `=`. */
export const scopes = {
  everything: '=all',
  role: (role: string) => `=r${role}`,
  conversation: (conv: Conv) => `=c${conv}`,
}

export function* hasUnindexed(): Program<boolean> {
  return (yield* all('unindexed', { after: null, limit: 1 })).length > 0
}

/** How far a pass over all conversations has come. */
export interface IndexPass {
  readonly after: Conv | null
  /** The conversation it is in the middle of, and up to where it goes there. */
  readonly within: { readonly conv: Conv; readonly end: number } | null
}

export const newPass: IndexPass = { after: null, within: null }

/** Indexes a bounded part of what lies above the marks, and says how many messages it was and how to go on;
 *  null at the end. A pass meets each conversation once, and there goes as far as it went then: whoever
 *  writes on does not hold it up. */
export function* indexSome(pass: IndexPass): Program<{ count: number; next: IndexPass | null }> {
  let { after } = pass
  let left = batch
  const found = yield* all('unindexed', { after, limit: batch })
  for (const { conv, id } of found) {
    // What is erased or deleted from here on is taken out of the index again; without the lock its words
    // could get in behind that.
    const row = yield* first('lockConversation', { id })
    const end = pass.within?.conv === conv ? pass.within.end : (row?.next_seq ?? 0)
    // Another process may have done it while this one waited.
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

/** What each message says; null for one that was erased or cannot be read. */
export function* readTexts(rows: readonly { readonly body: string | null }[]): Program<(string[] | null)[]> {
  const loadBlob = yield* loadBlobs(rows, indexedBytes)
  return rows.map(({ body }) => {
    if (body === null) return null
    let blocks: readonly Block[]
    try {
      blocks = decodeBody(body, loadBlob, 'beginnings').blocks
    } catch {
      // Damage is `verify`'s to report; a search must still find the rest.
      return null
    }
    return textsOf(blocks)
  })
}

export function* clearIndex(): Program<void> {
  yield* run('clearSearch', {})
  yield* run('resetIndexed', {})
}
