import type { Block } from '../../core/block.ts'
import { decodeBody } from '../../core/body.ts'
import { textsOf } from '../../core/search/texts.ts'
import { indexTokens } from '../../core/search/tokenize.ts'
import { all, first, type Program, run } from '../engine.ts'
import type { Conv, LooseMessageRow } from '../rows.ts'
import { loadBlobs } from './content.ts'

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
  return (yield* all('unindexed', { limit: 1 })).length > 0
}

/** Indexes what lies above the marks, a bounded part of it, and says how many messages it was. */
export function* indexSome(): Program<number> {
  let left = batch
  let count = 0
  for (const { conv, id, indexed_seq, next_seq } of yield* all('unindexed', { limit: batch })) {
    // What is erased or deleted from here on is taken out of the index again; without the lock its words
    // could get in behind that.
    yield* first('lockConversation', { id })
    const rows = yield* all('messagesBetween', { conv, lo: indexed_seq, hi: next_seq - 1, limit: left })
    yield* indexRows(conv, rows)
    count += rows.length
    const whole = rows.length < left
    yield* run('setIndexed', { conv, indexed_seq: whole ? next_seq : rows.at(-1)!.seq + 1 })
    left -= rows.length
    if (left <= 0) break
  }
  return count
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
      blocks = decodeBody(body, loadBlob).blocks
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
