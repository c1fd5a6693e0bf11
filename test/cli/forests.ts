import fc from 'fast-check'
import type { SaveItem, Store } from '../../src/core/ports.ts'

/** A forest: for each message, the index of its parent among the earlier ones, or -1. */
export const forests = fc
  .array(fc.nat(), { minLength: 1, maxLength: 30 })
  .map(picks => picks.map((pick, i) => (pick % (i + 1)) - 1))

/** Stores such a forest in a new conversation. */
export async function planted(store: Store, parents: readonly number[]) {
  const { conversation } = await store.create()
  const items = parents.map(
    (parent, i): SaveItem => ({
      message: { role: 'user', content: `message ${i}` },
      parent: parent < 0 ? null : { item: parent },
    }),
  )
  const ids = await store.save(conversation.id, items)
  return { id: conversation.id, ids }
}
