import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Message } from '../../../src/core/message.ts'
import { collectPages } from '../../../src/core/pages.ts'
import { readExportedConversation, usageAt } from '../../../src/formats/page/exported-conversation.ts'
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

test('an export reads the turns with its parts, and names the model and the usage of each', async () => {
  await using store = await openStore(':memory:', { indexing: 'manual' })
  const count = 1_100
  const place = await store.create({ model: 'the default' })
  let { head } = place.branch
  for (let n = 0; n < count; n++) {
    const turn = { key: `${n}`, step: 0, status: 'complete', usage: { input: n } } as const
    const model = n % 2 === 0 ? { model: `model ${n}` } : {}
    const messages = [
      { role: 'assistant', content: 'first' },
      { role: 'assistant', content: 'last' },
    ] as const
    head = (await store.append(place.branch, head, messages, { turn: { ...turn, ...model } })).head
  }
  const read: number[] = []
  const counting = {
    ...store,
    async listTurns(...args: Parameters<typeof store.listTurns>) {
      const page = await store.listTurns(...args)
      read.push(page.items.length)
      return page
    },
  }
  const exported = await readExportedConversation(counting, await store.resolve(place.conversation.id))
  expect(read).toEqual([])
  const shown: unknown[] = []
  for await (const part of exported.parts(exported.lines[0]!))
    for (const message of part.messages)
      shown.push([exported.speaker(message, part), usageAt(message, part)?.input ?? null])
  const models = Array.from({ length: count }, (_, n) => (n % 2 === 0 ? `model ${n}` : 'the default'))
  expect(shown).toEqual(
    models.flatMap((model, n) => [
      [model, null],
      [model, n],
    ]),
  )
  // A part has five hundred messages.
  expect(read).toEqual([250, 250, 250, 250, 100])
})
