import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { ownFile } from '../settings/own-file.ts'
import { home } from '../skein.ts'
import { terminal } from '../terminal.ts'

// Many processes on few cores.
vi.setConfig({ testTimeout: 120_000 })

const server = join(import.meta.dirname, '../../support/mcp-stdio.ts')
const call = '/tool files_two {}'

it('remembers an answer for a conversation and for always over the end of the process, until it is forgotten', async () => {
  using here = home()
  ownFile(here, { mcp: { files: { command: process.execPath, args: [server] } } })
  const answer = async (args: readonly string[], key: string) => {
    using screen = terminal(here, args)
    await screen.see(/\? files_two {2}y once · c in this conversation · a always here · n no/)
    screen.type(key)
    expect(await screen.ended).toBe(0)
    expect(screen.screen()).toContain('files_two returned')
  }
  const runs = async (...args: readonly string[]) =>
    (await here.skein([...args, call])).stdout.includes('files_two returned: "one')
  await answer([call], 'y')
  expect(await runs()).toBe(false)
  await answer([call], 'c')
  expect([await runs(), await runs('-n')]).toEqual([true, false])
  await answer(['-n', call], 'a')
  expect(await runs('-n')).toBe(true)
  const { remembered } = JSON.parse((await here.skein(['approvals', 'remembered', '--json'])).stdout)
  expect(remembered).toMatchObject([
    { scope: 'files_two', conversation: expect.any(String) },
    { scope: 'files_two', conversation: null, project: here.cwd },
  ])
  const forgotten = await here.skein(['approvals', 'forget', remembered[1].id])
  expect(forgotten).toMatchObject({ code: 0, stderr: '1 answer forgotten: such calls are asked for again\n' })
  expect(await runs('-n')).toBe(false)
  await here.skein(['approvals', 'forget', 'all'])
  expect((await here.skein(['approvals', 'remembered'])).stderr).toContain('no answer is remembered')
  expect((await here.skein(['approvals', 'forget', 'zzz'])).stderr).toContain('skein: ')
})
