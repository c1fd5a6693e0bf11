import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, it } from 'vitest'
import { answerOf, look, open, user, words } from './conversation.ts'

const main = join(import.meta.dirname, '../support/models/main.ts')

it('the loopback server runs as a process, prints its requests, and ends with its parent', async () => {
  const replies = [{ parts: [{ call: { name: 'look', input: {} } }] }, 'done']
  const child = spawn(process.execPath, [main, JSON.stringify(replies)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const line = async () => JSON.parse((await lines.next()).value ?? 'null')
  const { url, baseUrls } = await line()
  const model = await open('anthropic/claude-x', { url, baseUrls, requests: [], close: async () => {} })
  const request = { messages: [user('x')], tools: [look] }
  expect((await answerOf(model, request)).finish).toBe('tool_calls')
  expect(words(await answerOf(model, request))).toBe('done')
  expect(await line()).toMatchObject({ n: 0, provider: 'anthropic', tools: ['look'] })
  const exited = once(child, 'exit')
  child.stdin.end()
  expect(await exited).toEqual([0, null])
})
