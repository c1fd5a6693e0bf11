import fc from 'fast-check'
import { expect, test } from 'vitest'
import { splitIntoLines } from '../../../src/cli/transfer/exported-conversation.ts'
import { collectPages } from '../../../src/core/pages.ts'
import { openStore } from '../../../src/stores/open.ts'
import { forests, planted } from '../forests.ts'

const seed = 1611

test('an export contains every message in exactly one line, after its parent', async () => {
  await using store = await openStore(':memory:')
  await fc.assert(
    fc.asyncProperty(forests, fc.nat(), async (parents, pick) => {
      const { id, ids } = await planted(store, parents)
      const { items } = await store.listMessages({ conversationId: id, order: 'ascending' })
      const head = ids[pick % ids.length]!
      const lines = splitIntoLines(items, head, await collectPages(page => store.listBranches(id, page)))
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
