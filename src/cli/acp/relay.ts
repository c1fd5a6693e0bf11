import { agentName } from '../../acp/host/agent-name.ts'
import { startProxy } from '../../acp/proxy/proxy.ts'
import { type Given, textOption } from '../command.ts'
import type { World } from '../world.ts'

/** `skein acp -- <command>`: sits between an editor and an agent until the editor hangs up. stdout is the editor's, so that all
 *  that is said about it goes to stderr, which editors keep in a log. */
export async function relay(
  [command, ...args]: readonly [string, ...string[]],
  given: Given,
  world: World,
): Promise<number> {
  const { err, signal } = world
  const proxy = startProxy({
    store: await world.store(),
    command: { command, args, cwd: world.cwd },
    name: textOption(given, 'name') ?? agentName({ command, args }),
    input: world.stdin,
    output: process.stdout,
    log: text => err.line(`skein: ${text}`),
    onComplaint: text => err.write(text),
  })
  signal.addEventListener('abort', () => proxy.close(), { once: true })
  return proxy.done
}
