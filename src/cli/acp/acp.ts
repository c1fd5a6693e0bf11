import { isNonEmpty } from '../../core/message.ts'
import { hasOption, type Run } from '../command-line/command.ts'
import { UsageError } from '../command-line/usage-error.ts'

/** `skein acp`: our own agent, or the memory of another one, for an editor on the other end of standard input and output. */
export const acp: Run = async (given, world) => {
  const command = given.arguments
  if (isNonEmpty(command)) {
    for (const option of ['model', 'system'])
      if (hasOption(given, option))
        throw new UsageError(
          `--${option} is for our own agent`,
          'Another agent’s options stand behind its name',
        )
    const { relay } = await import('./relay.ts')
    return relay(command, given, world)
  }
  if (hasOption(given, 'name')) throw new UsageError('--name is for another agent', 'skein acp -- <command>')
  const { serveOwn } = await import('./serve-own.ts')
  return serveOwn(given, world)
}
