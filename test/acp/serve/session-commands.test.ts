import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { openStore } from '../../../src/stores/open.ts'
import { lockFile } from '../../support/lock-file.ts'
import { unindexedStore } from '../../support/unindexed-store.ts'
import { desk } from './build.ts'
import { type Editor, only } from './editor.ts'

async function say(editor: Editor, sessionId: string, text: string): Promise<string> {
  editor.forget()
  expect((await editor.prompt(sessionId, text)).stopReason).toBe('end_turn')
  return only(editor.shown(sessionId), 'agent_message_chunk')
    .map(({ content }) => (content.type === 'text' ? content.text : ''))
    .join('')
}

it('/search says how many messages were not searched', async () => {
  await using store = await unindexedStore({ directory: '/' })
  await using here = await desk({ served: { store } })
  const { sessionId } = await here.editor.begin()
  expect(await say(here.editor, sessionId, '/search heron')).toBe(
    'Nothing in this project contains heron.\n\n100 messages are not in the search index yet: search again later.',
  )
  expect(await say(here.editor, sessionId, '/search message')).toMatch(/^- .*\n\n100 messages are not/s)
  await store.indexSearch()
  expect(await say(here.editor, sessionId, '/search heron')).toMatch(/^- .*the oldest heron[^\n]*$/)
})

it('/search says how many messages are not saved yet', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'session-commands-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'conversations.db')
  await using store = await openStore(file)
  await using here = await desk({ served: { store } })
  const { sessionId } = await here.editor.begin()
  await say(here.editor, sessionId, 'a heron')
  const lock = await lockFile(file)
  // The prompt ends before it is saved, and later prompts do not wait for it.
  await here.editor.prompt(sessionId, 'an egret')
  const note = '2 messages are not saved yet: search again later.'
  expect(await say(here.editor, sessionId, '/search egret')).toBe(
    `Nothing in this project contains egret.\n\n${note}`,
  )
  expect(await say(here.editor, sessionId, '/search heron')).toMatch(
    /^- .*a heron[\s\S]*\n\n2 messages are not/,
  )
  await lock.release()
  // The question may be saved before its answer.
  const search = () => say(here.editor, sessionId, '/search egret')
  await vi.waitUntil(async () => !(await search()).includes('not saved'), 20_000)
  expect(await search()).toMatch(/^- .*an egret/)
}, 60_000)

it('/search says what is wrong with a query', async () => {
  await using here = await desk()
  const { sessionId } = await here.editor.begin()
  expect(await say(here.editor, sessionId, '/search "open')).toMatch(/^The search cannot be read: /)
})

it('a slash command that is cancelled ends as a cancelled prompt', async () => {
  const never = new Promise<void>(() => undefined)
  const started = Promise.withResolvers<void>()
  const gate = () => {
    started.resolve()
    return never
  }
  let isCompacting = false
  await using here = await desk({ script: () => (isCompacting ? { text: 'a summary', gate } : 'fine') })
  const { sessionId } = await here.editor.begin()
  for (let n = 0; n < 8; n++) await here.editor.prompt(sessionId, `message ${n}`)
  isCompacting = true
  const answer = here.editor.prompt(sessionId, '/compact')
  await started.promise
  await here.editor.cancel(sessionId)
  expect(await answer).toEqual({ stopReason: 'cancelled' })
})
