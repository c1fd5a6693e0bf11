import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Message } from '../../../src/core/message.ts'
import { collectPages } from '../../../src/core/pages.ts'
import { readExportedConversation } from '../../../src/formats/page/exported-conversation.ts'
import { openStore } from '../../../src/stores/open.ts'
import { forests, planted } from '../forests.ts'

const seed = 1611

test('an export contains every message in exactly one line, after its parent', async () => {
  await using store = await openStore(':memory:')
  await fc.assert(
    fc.asyncProperty(forests, fc.nat(), async (parents, pick) => {
      const { id, ids } = await planted(store, parents)
      const head = ids[pick % ids.length]!
      const { conversation, branch } = await store.resolve(id)
      const exported = await readExportedConversation(store, { conversation, branch, message: head })
      const { lines } = exported
      const listed: Message[] = []
      for (const line of lines) {
        const messages: Message[] = []
        for await (const part of exported.parts(line)) messages.push(...part.messages)
        const above = [line.from, ...messages.map(message => message.id)]
        expect(messages.map(message => message.parentId)).toEqual(above.slice(0, -1))
        expect([messages.length, messages[0]!.id, messages.at(-1)!.id]).toEqual([
          line.size,
          line.first,
          line.last,
        ])
        listed.push(...messages)
      }
      expect(listed.map(message => message.id).sort()).toEqual([...ids].sort())
      expect(lines[0]!.last).toBe(head)
      const branches = await collectPages(page => store.listBranches(id, page))
      expect(lines.flatMap(line => line.branches).sort()).toEqual(
        branches.flatMap(({ name, head: end }) => (end === null ? [] : name)).sort(),
      )
    }),
    { seed, numRuns: 60 },
  )
})
