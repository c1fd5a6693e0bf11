import { afterAll, beforeAll, expect, it } from 'vitest'
import { addTwoUsers } from '../support/two-users.ts'
import { startService, type TestService } from './harness.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
  await addTwoUsers(service.store)
})
afterAll(() => service?.close())

const filters = [
  'key_prefix=user:2:',
  'metadata.user=u2',
  'metadata.n=2',
  'metadata.user=u2&metadata.n=2',
  'tag=user-2',
  'channel=channel-2',
  'project=project-2',
  'label_prefix=user.2.',
]

const titlesOf = async (path: string) => {
  const { status, body } = await service.call(path)
  expect([path, status]).toEqual([path, 200])
  return body.items.map((item: { title?: string; conversation?: { title: string } }) => {
    return item.conversation?.title ?? item.title
  })
}

it.each(filters)('searches and lists by %s', async filter => {
  expect(await titlesOf(`/search?q=harbour&${filter}`)).toEqual(['2'])
  expect(await titlesOf(`/conversations?${filter}`)).toEqual(['2'])
  // A value that no conversation has.
  const other = filter.replace(/2(?!.*2)/, '3')
  expect(await titlesOf(`/search?q=harbour&${other}`)).toEqual([])
  expect(await titlesOf(`/conversations?${other}`)).toEqual([])
})

it('searches and lists those of both users without a filter, and refuses an unknown one', async () => {
  expect((await titlesOf('/search?q=harbour')).toSorted()).toEqual(['1', '2'])
  expect((await titlesOf('/conversations')).toSorted()).toEqual(['1', '2'])
  expect((await service.call('/search?q=harbour&tags=user-2')).status).toBe(400)
})
