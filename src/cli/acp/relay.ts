import { agentName } from '../../acp/host/agent-name.ts'
import { startProxy } from '../../acp/proxy/proxy.ts'
import { waitUntilSaved } from '../answer/wait-until-saved.ts'
import { type Given, textOption } from '../command-line/command.ts'
import type { World } from '../command-line/command-context.ts'
import { exit } from '../command-line/exit-code.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { noteLine } from '../output/print.ts'
import { shownTarget } from '../store/store-location.ts'

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
