import { expect, test } from 'vitest'
import type { NewMessage, NonEmpty } from '../../../src/core/message.ts'
import { openStore } from '../../../src/stores/open.ts'
import { lockFile } from '../../support/lock-file.ts'
import { type Home, home } from '../skein.ts'
import { storeFile } from '../stock.ts'
import { terminal } from '../terminal.ts'

/** More than a search reads outside the index. */
const count = 2_100
/** Words that no other message has. A million of them take seconds, and the bar appears after 0.3 s. */
const words = 500

/** Stores the messages, and leaves the index empty. */
async function fillUnindexed({ cwd, ...here }: Home): Promise<void> {
  await using store = await openStore(storeFile({ cwd, ...here }), { indexing: 'manual' })
  const { branch } = await store.create({ directory: cwd })
  const messages = Array.from({ length: count }, (_, n): NewMessage => {
    const filler = Array.from({ length: words }, (_, i) => (n * words + i).toString(36)).join(' ')
    return { role: 'user', content: `${n === 0 ? 'the oldest heron' : 'another'} ${filler}` }
  })
  await store.append(branch, null, messages as unknown as NonEmpty<NewMessage>)
  expect((await store.search('heron')).unindexed).toBeGreaterThan(0)
}

async function unindexedIn(here: Home): Promise<number> {
  await using store = await openStore(storeFile(here), { indexing: 'manual' })
  return await store.indexSearch()
}

test('skein search completes the index with a progress bar, and finds the oldest message', async () => {
  using here = home()
  await fillUnindexed(here)
  using shown = terminal(here, ['search', 'heron'])
  expect(await shown.ended).toBe(0)
  expect(shown.raw).toMatch(/indexing [^\n]* of 2,100 messages/)
  expect(shown.screen()).toMatch(/^ {2}\S{6} .*the oldest \[?heron/m)
  expect(shown.screen()).not.toContain('indexing')
  expect(await unindexedIn(here)).toBe(0)
}, 60_000)

test('skein search completes the index in a pipe without a bar', async () => {
  using here = home()
  await fillUnindexed(here)
  const { stdout, stderr, code } = await here.skein(['search', 'heron'])
  expect(stdout).toContain('the oldest heron')
  expect([stderr, code]).toEqual(['', 0])
  expect(await unindexedIn(here)).toBe(0)
}, 60_000)

test('skein search finds what it can while another process locks the store, and names the process', async () => {
  using here = home()
  await fillUnindexed(here)
  using lock = await lockFile(storeFile(here))
  const { stdout, stderr, code } = await here.skein(['search', '--json', 'another'])
  expect(JSON.parse(stdout)).toHaveLength(20)
  expect([stderr, code]).toEqual([
    `! 100 messages are not in the search index: another process (pid ${lock.pid}) is using the store (5 s): ${storeFile(here)}\n`,
    0,
  ])
}, 60_000)
