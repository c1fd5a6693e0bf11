import { expect, test, vi } from 'vitest'
import { home } from '../skein.ts'
import { driving, hostile, stocked, tell } from '../stock.ts'

// Many processes on few cores.
vi.setConfig({ testTimeout: 120_000 })

test('rename changes the title of a conversation and the name of a branch', async () => {
  using here = home()
  const { conversation, ids } = await stocked(here, store => tell(store, { title: 'Old' }, 'one', 'two'))
  const { id } = conversation
  const renamed = await here.skein(['rename', id.slice(0, 6), 'Reconnect', 'storm'])
  expect(renamed).toMatchObject({ code: 0, stdout: '' })
  expect(renamed.stderr).toBe(`renamed ${id.slice(0, 6)}: "Old" is "Reconnect storm" now\n`)
  const branch = await here.skein(['conversation', 'rename', '--json', `${id}:main`, 'trunk'])
  expect(JSON.parse(branch.stdout)).toEqual({
    conversation: id,
    branch: 'trunk',
    name: 'trunk',
    before: 'main',
  })
  const evil = await here.skein(['rename', id, hostile])
  expect(evil.stderr).not.toMatch(driving)
  await stocked(here, async store => {
    expect(await store.getConversation(id)).toMatchObject({ title: hostile.trim(), activeBranch: 'trunk' })
  })
  expect(await here.skein(['rename', ids[0]!, 'x'])).toMatchObject({ code: 2 })
  expect(await here.skein(['rename', id, ' '])).toMatchObject({ code: 2 })
  expect(await here.skein(['rename', id])).toMatchObject({ code: 2 })
  expect(await here.skein(['rename', 'zzzzzz', 'x'])).toMatchObject({ code: 3 })
  expect((await here.skein(['rename', '-q', id, 'quiet'])).stderr).toBe('')
})

test('label sets, shows and removes labels of messages and conversations', async () => {
  using here = home()
  const { conversation, ids } = await stocked(here, store => tell(store, {}, 'one', 'two'))
  const put = await here.skein(['label', ids[0]!.slice(0, 7), 'the', 'good', 'one'])
  expect(put.stderr).toBe(`labelled ${ids[0]!.slice(0, 6)}: the good one\n`)
  expect((await here.skein(['label', ids[0]!])).stdout).toBe('the good one\n')
  const json = await here.skein(['label', '--json', ids[0]!, hostile])
  expect(JSON.parse(json.stdout)).toEqual({
    conversation: conversation.id,
    message: ids[0],
    label: hostile,
    before: 'the good one',
  })
  expect((await here.skein(['label', ids[0]!])).stdout).not.toMatch(driving)
  expect((await here.skein(['label', '--remove', ids[0]!])).stderr).toContain('took the label from')
  expect(await here.skein(['label', ids[0]!])).toMatchObject({
    stdout: '',
    stderr: 'it has no label\n',
    code: 0,
  })
  await here.skein(['label', conversation.id, 'topic'])
  await stocked(here, async store => {
    expect((await store.getConversation(conversation.id)).label).toBe('topic')
    expect((await store.getMessages([ids[0]!]))[0]!.label).toBeNull()
  })
  expect(await here.skein(['label', '--remove', ids[0]!, 'x'])).toMatchObject({ code: 2 })
  expect(await here.skein(['label', ids[0]!, ''])).toMatchObject({ code: 2 })
})
