import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { textOf } from '../../src/core/message.ts'
import { pathOf } from '../../src/core/path.ts'
import { storeOf } from './running.ts'
import { commandLine, type Home, home } from './skein.ts'
import { program, terminal } from './terminal.ts'

vi.setConfig({ testTimeout: 60_000 })

const words = Array.from({ length: 40 }, (_, i) => `w${i}`).join(' ')

/** The texts of the only conversation. */
async function textsIn(here: Home): Promise<readonly string[]> {
  await using store = await storeOf(here)
  const [conversation] = (await store.listConversations()).items
  const { head } = await store.getBranch({ conversationId: conversation!.id, name: 'main' })
  return (await pathOf(store, head!)).map(textOf)
}

const question = `/slow 300 ${words}`

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

it('continues under nohup when the terminal is closed', async () => {
  using here = home()
  const [file, argv] = commandLine([`/slow 50 ${words}`])
  using nohup = program(here, 'nohup', [file, ...argv])
  await vi.waitFor(() => expect(readFileSync(join(here.cwd, 'nohup.out'), 'utf8')).toContain('w1'), 20_000)
  nohup.hangUp()
  expect(await nohup.ended).toBe(0)
  expect(await textsIn(here)).toEqual([`/slow 50 ${words}`, words])
})
