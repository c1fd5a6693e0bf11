import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { expect, it, vi } from 'vitest'
import { textOf } from '../../src/core/message.ts'
import { pathOf } from '../../src/core/path.ts'
import { start, storeOf } from './running.ts'
import { commandLine, type Home, home } from './skein.ts'
import { terminal } from './terminal.ts'

vi.setConfig({ testTimeout: 60_000 })

const words = Array.from({ length: 12 }, (_, i) => `w${i}`).join(' ')

/** The texts of the only conversation. */
async function textsIn(here: Home): Promise<readonly string[]> {
  await using store = await storeOf(here)
  const [conversation] = (await store.listConversations()).items
  const { head } = await store.getBranch({ conversationId: conversation!.id, name: 'main' })
  return (await pathOf(store, head!)).map(textOf)
}

const question = `/slow 200 ${words}`

it.each([
  { name: 'a chat', args: ['chat'] },
  { name: 'a prompt', args: [question] },
])('stores what has arrived when the terminal of $name is closed', async ({ args }) => {
  using here = home()
  using skein = terminal(here, args)
  if (args[0] === 'chat') {
    await skein.see('› ')
    skein.type(`${question}\r`)
  }
  await skein.see(/\nw0 w1/)
  skein.hangUp()
  expect(await skein.ended).toBe(130)
  expect(await textsIn(here)).toEqual([question, expect.stringMatching(/^w0 w1/)])
})

it('continues without a terminal, as under nohup', async () => {
  using here = home()
  const skein = start(here, [question])
  await skein.says('w1')
  skein.kill('SIGHUP')
  expect((await skein.ended).code).toBe(0)
  expect(await textsIn(here)).toEqual([question, words])
})

it('reads an input that is only open for writing as empty, as nohup gives it', async () => {
  using here = home()
  const input = openSync('/dev/null', 'w')
  const [file, argv] = commandLine(['/say hello'])
  const child = spawn(file, argv, { cwd: here.cwd, env: here.env, stdio: [input, 'ignore', 'ignore'] })
  closeSync(input)
  expect(await once(child, 'exit')).toEqual([0, null])
  expect(await textsIn(here)).toEqual(['/say hello', 'hello'])
})
