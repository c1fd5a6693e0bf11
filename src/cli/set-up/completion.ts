import type { Command, Run } from '../command-line/command.ts'
import { exit } from '../command-line/exit-code.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { bashScript } from './completion-bash.ts'
import { fishScript } from './completion-fish.ts'
import { completedCommands } from './completion-words.ts'
import { zshScript } from './completion-zsh.ts'

const shells = { bash: bashScript, zsh: zshScript, fish: fishScript }

/** Prints a script that makes a shell complete these commands, their flags and the ids of conversations. */
export function completionOf(commands: readonly Command[]): Run {
  return async (given, world) => {
    const name = given.arguments[0]!
    if (!Object.hasOwn(shells, name)) {
      throw new UsageError(`completion knows bash, zsh and fish; not "${name}"`, 'skein completion --help')
    }
    world.out.write(shells[name as keyof typeof shells](completedCommands(commands)))
    return exit.ok
  }
}
