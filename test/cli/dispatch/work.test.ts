import { expect, test, vi } from 'vitest'
import { start, storeOf } from '../running.ts'
import { home } from '../skein.ts'
import { terminal } from '../terminal.ts'

// Many processes on few cores.
vi.setConfig({ testTimeout: 120_000 })

/** The demo model answers it word by word. */
const slowly = (words: number) => `/slow 20 ${Array.from({ length: words }, (_, i) => `word${i}`).join(' ')}`

test('Ctrl+C finishes what runs and claims nothing more, and says so', async () => {
  using here = home()
  await using store = await storeOf(here)
  await store.submitTask({ id: 'first', description: slowly(50) })
  await store.submitTask({ id: 'second', description: 'Hello' })
  using worker = terminal(here, ['dispatch', 'work', '--name', 'w'])
  await worker.see('first #1 started by w')
  worker.type('\x03')
  await worker.seeNext('finishing 1 dispatch. Ctrl+C again gives it back')
  await worker.seeNext(/first #1 done in/)
  expect(await worker.ended).toBe(0)
  expect((await store.getDispatch('first', 1)).result).toMatchObject({ success: true })
  expect(await store.getTask('second')).toMatchObject({ status: 'queued' })
})

test('a second Ctrl+C gives the dispatch back, with its turn stored as interrupted', async () => {
  using here = home()
  await using store = await storeOf(here)
  await store.submitTask({ id: 't', description: slowly(2_000) })
  using worker = terminal(here, ['dispatch', 'work'])
  await worker.see('t #1 started by')
  const { conversationId } = await vi.waitUntil(
    async () => {
      const dispatch = await store.getDispatch('t', 1)
      return dispatch.conversationId === null ? null : dispatch
    },
    { timeout: 30_000 },
  )
  worker.type('\x03')
  await worker.seeNext('finishing 1 dispatch')
  worker.type('\x03')
  await worker.seeNext('t #1 given back')
  expect(await worker.ended).toBe(0)
  expect(await store.getTask('t')).toMatchObject({ status: 'queued', conversationId })
  const { items } = await store.listTurns(conversationId!)
  expect(items.map(({ key, status }) => [key, status])).toEqual([['dispatch:1', 'interrupted']])
})

test('serves the figures of its workers, and nothing else', async () => {
  using here = home()
  await using store = await storeOf(here)
  await store.submitTask({ id: 't', description: 'My name is Ada.' })
  const worker = start(here, ['dispatch', 'work', '--metrics', '127.0.0.1:0'])
  await worker.complains('/metrics')
  await worker.says('t #1 done in')
  const [url = ''] = /http:\S+\/metrics/.exec(worker.complaints()) ?? []
  const text = await (await fetch(url)).text()
  for (const line of [
    'skein_dispatches_total{status="done"} 1',
    'skein_dispatches_running 0',
    'skein_dispatch_queue_seconds_count 1',
    'skein_dispatch_first_word_seconds_count 1',
  ])
    expect(text.split('\n')).toContain(line)
  expect(text).not.toMatch(/Ada|"t"/)
  expect((await fetch(url.replace('/metrics', '/'))).status).toBe(404)
  worker.kill('SIGTERM')
  expect((await worker.ended).code).toBe(0)
})
