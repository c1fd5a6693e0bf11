import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openSqliteStore } from '../../../src/stores/sqlite/index.ts'
import { addTwoUsers } from '../../support/two-users.ts'
import { home } from '../skein.ts'

const here = home()
const file = join(here.cwd, 'users.db')
beforeAll(async () => {
  await using store = await openSqliteStore(file)
  await addTwoUsers(store)
})
afterAll(() => here[Symbol.dispose]())

const filters = [
  ['--key', 'user:2:'],
  ['--metadata', 'user=u2'],
  ['--metadata', 'n=2'],
  ['--tag', 'user-2'],
  ['--channel', 'channel-2'],
  ['--project', 'project-2'],
  ['--label', 'user.2.'],
]

async function titles(args: readonly string[]): Promise<string[]> {
  const { stdout, stderr, code } = await here.skein([...args, '--all', '--json', '--db', file])
  expect([stderr, code]).toEqual(['', 0])
  const items = JSON.parse(stdout) as { title?: string; conversation?: { title: string } }[]
  return items.map(item => (item.conversation?.title ?? item.title)!)
}

test.each(filters)('skein search and skein ls take %s %s', async (name, value) => {
  const other = value.replace('2', '3')
  const [found, listed, none] = await Promise.all([
    titles(['search', 'harbour', name, value]),
    titles(['ls', name, value]),
    titles(['search', 'harbour', name, other]),
  ])
  expect([found, listed, none]).toEqual([['2'], ['2'], []])
})

test('skein search without a filter finds the words of both users', async () => {
  expect((await titles(['search', 'harbour'])).toSorted()).toEqual(['1', '2'])
})
