import { chmodSync, readdirSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { expect, it, vi } from 'vitest'
import { dataFile } from '../running.ts'
import { commandLine, type Home, home } from '../skein.ts'
import { program } from '../terminal.ts'

// A write to the store is retried for seconds, and many processes run on few cores.
vi.setConfig({ testTimeout: 120_000 })

/** Sets the modes of the store and its folder. Other users may reach both. */
function allow(here: Home, { file, folder }: { file: number; folder: number }): void {
  const place = dirname(here.cwd)
  const store = dirname(dataFile(here))
  const between = relative(place, store).split('/')
  for (const [i] of between.entries()) chmodSync(join(place, ...between.slice(0, i)), 0o755)
  for (const path of [here.cwd, here.env.XDG_CONFIG_HOME!]) chmodSync(path, 0o755)
  for (const name of readdirSync(store)) chmodSync(join(store, name), file)
  chmodSync(store, folder)
}

it('answers in a chat on a read-only store, says what helps, and saves once it can be written', async () => {
  using here = home()
  await here.skein(['-q', 'first words'])
  allow(here, { file: 0o444, folder: 0o555 })
  // Root may write everything, so the command runs as another user.
  const asUnprivileged = join(import.meta.dirname, '../as-unprivileged.ts')
  const isRoot = process.getuid?.() === 0
  const [file, args] = isRoot ? [process.execPath, [asUnprivileged, 'chat']] : commandLine(['chat'])
  using chat = program(here, file, args, { patienceMs: 60_000 })
  await chat.see(/102k · free[\s\S]*› $/)
  chat.type('/say the second answer\r')
  await chat.seeNext(/! not saved yet: the store is read-only:\s/)
  const hint = isRoot ? 'belongs to another user' : 'To write: chmod u\\+w'
  await chat.seeNext(new RegExp(hint.replaceAll(' ', '\\s+')))
  await chat.seeNext(/It\s+is\s+saved\s+as\s+soon\s+as\s+the\s+store\s+can\s+be\s+written/)
  await chat.seeNext(/the second answer[\s\S]* · 2 not saved\n› $/)
  allow(here, { file: 0o666, folder: 0o777 })
  await chat.seeNext(/! saved now: nothing was lost[\s\S]* · free\n› $/)
  chat.type('\x04')
  expect(await chat.ended).toBe(0)
  expect(JSON.parse((await here.skein(['show', '--json'])).stdout).path).toHaveLength(4)
})
