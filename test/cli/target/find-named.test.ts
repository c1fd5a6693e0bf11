import { expect, test } from 'vitest'
import { type NameScope, needIdOrTitle } from '../../../src/cli/target/find-named.ts'
import { AmbiguousIdError } from '../../../src/core/errors.ts'
import { openStore } from '../../../src/stores/open.ts'

const context = { cwd: '/nowhere/here', env: {} } as NameScope

test('a title that many conversations have names the one of this project, or the newest ten', async () => {
  await using store = await openStore(':memory:', { indexing: 'manual' })
  const find = () => needIdOrTitle('a storm', store, context)
  for (let n = 0; n < 5; n++) await store.create({ title: `A storm ${n}`, directory: context.cwd })
  for (let n = 0; n < 12; n++) await store.create({ title: 'A storm', directory: '/nowhere/else' })
  const { items } = await store.listConversations({ title: 'A storm', limit: 100 })
  const elsewhere = items.filter(({ title }) => title === 'A storm').map(({ id }) => id)
  const error = await find().catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(AmbiguousIdError)
  expect((error as AmbiguousIdError).candidates.map(({ id }) => id)).toEqual(elsewhere.slice(0, 10))
  const one = await store.create({ title: 'a Storm', directory: context.cwd })
  expect((await find()).conversation.id).toBe(one.conversation.id)
  await store.create({ title: 'A STORM', directory: context.cwd })
  await expect(find()).rejects.toThrow(AmbiguousIdError)
})
