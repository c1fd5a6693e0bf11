import { agentName } from '../../acp/host/agent-name.ts'
import { startProxy } from '../../acp/proxy/proxy.ts'
import { type Given, textOption } from '../command.ts'
import { exit } from '../exit.ts'
import { shownTarget } from '../set-up/shown-target.ts'
import { noteLine } from '../talk/header.ts'
import { waitUntilSaved } from '../talk/wait-until-saved.ts'
import { UsageError } from '../usage-error.ts'
import type { World } from '../world.ts'

/** `skein acp -- <command>`: sits between an editor and an agent until the editor hangs up. stdout is the
 *  editor's, so that all that is said about it goes to stderr, which editors keep in a log. */
export async function relay(
  [command, ...args]: readonly [string, ...string[]],
  given: Given,
  world: World,
): Promise<number> {
  const { err, signal, quiet, stdin } = world
  const name = textOption(given, 'name') ?? agentName({ command, args })
  if (name.trim() === '') throw new UsageError('--name must not be empty')
  const say = (note: string) => {
    if (!quiet) err.line(noteLine(note, err))
  }
  const store = await world.store()
  say(`${name}: what is said is kept in ${shownTarget(world)}`)
  if (stdin.isTTY) say('an editor starts this and talks with it: see docs/acp.md. Ctrl+D ends it')
  const proxy = startProxy({
    store,
    command: { command, args, cwd: world.cwd },
    name,
    input: stdin,
    output: process.stdout,
    log: say,
    onComplaint: text => err.write(text),
  })
  signal.addEventListener('abort', () => proxy.close(), { once: true })
  const code = await proxy.done
  return (await waitUntilSaved(store, world)) ? code : exit.failure
}
