import type { Command, CommandHandler } from '../command-line/command.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { completableCommands } from './completable-commands.ts'
import { bashScript, fishScript, zshScript } from './completion-scripts.ts'

const shells = { bash: bashScript, zsh: zshScript, fish: fishScript }

/** `skein completion`: prints a script that completes these commands, their flags and conversation ids. */
export function completionCommand(commands: readonly Command[]): CommandHandler {
  return async (args, context) => {
    const name = args.arguments[0]!
    if (!Object.hasOwn(shells, name)) {
      throw new UsageError(`completion knows bash, zsh and fish; not "${name}"`, 'skein completion --help')
    }
    context.out.write(shells[name as keyof typeof shells](completableCommands(commands)))
    return exitCode.ok
  }
}
