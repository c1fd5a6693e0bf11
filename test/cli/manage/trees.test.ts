import fc from 'fast-check'
import { expect, test } from 'vitest'
import { subtreeSize } from '../../../src/cli/manage/subtree-size.ts'
import { linesOf } from '../../../src/cli/transfer/exported.ts'
import type { NonEmpty } from '../../../src/core/message.ts'
import type { SaveItem, Store } from '../../../src/core/ports.ts'
import { openStore } from '../../../src/stores/open.ts'

const seed = 1611

/** A forest: for each message the number of an earlier one that it hangs on, or -1. */
const forests = fc
  .array(fc.nat(), { minLength: 1, maxLength: 30 })
  .map(picks => picks.map((pick, i) => (pick % (i + 1)) - 1))

async function planted(store: Store, parents: readonly number[]) {
  const { conversation } = await store.create()
  const items = parents.map(
    (parent, i): SaveItem => ({
      message: { role: 'user', blocks: `message ${i}` },
      parent: parent < 0 ? null : { item: parent },
    }),
  )
  const ids = await store.save(conversation.id, items as unknown as NonEmpty<SaveItem>)
  return { id: conversation.id, ids }
}

test('what a question counts is what is deleted, whatever the tree', async () => {
  await using store = await openStore(':memory:')
  await fc.assert(
    fc.asyncProperty(forests, fc.array(fc.nat(), { minLength: 1, maxLength: 3 }), async (parents, picks) => {
      const { id, ids } = await planted(store, parents)
      const seqs = [...new Set(picks.map(pick => pick % ids.length))]
      const counted = subtreeSize(await store.structure(id), seqs)
      const { deleted } = await store.deleteMessages(
        seqs.map(seq => ids[seq]!),
        { recursive: true },
      )
      expect(counted).toBe(deleted)
    }),
    { seed, numRuns: 60 },
  )
})

test('an export has every message in exactly one line, each after its parent', async () => {
  await using store = await openStore(':memory:')
  await fc.assert(
    fc.asyncProperty(forests, fc.nat(), async (parents, pick) => {
      const { id, ids } = await planted(store, parents)
      const { items } = await store.listMessages({ conversationId: id, order: 'ascending' })
      const head = ids[pick % ids.length]!
      const lines = linesOf(items, head, await store.listBranches(id))
      expect(lines.flatMap(line => line.messages.map(message => message.id)).sort()).toEqual([...ids].sort())
      for (const { messages, from } of lines) {
        const above = [from, ...messages.map(message => message.id)]
        expect(messages.map(message => message.parentId)).toEqual(above.slice(0, -1))
      }
      expect(lines[0]!.messages.at(-1)!.id).toBe(head)
    }),
    { seed, numRuns: 60 },
  )
})
