import type { Run } from '../command.ts'
import { exit } from '../exit.ts'
import { UsageError } from '../usage-error.ts'
import { bashScript } from './completion-bash.ts'
import { fishScript } from './completion-fish.ts'
import { completedCommands } from './completion-words.ts'
import { zshScript } from './completion-zsh.ts'

const shells = { bash: bashScript, zsh: zshScript, fish: fishScript }

/** Prints a script that makes a shell complete commands, flags and the ids of conversations. */
export const completion: Run = async (given, world) => {
  const name = given.arguments[0]!
  if (!Object.hasOwn(shells, name)) {
    throw new UsageError(`completion knows bash, zsh and fish; not "${name}"`, 'skein completion --help')
  }
  world.out.write(shells[name as keyof typeof shells](completedCommands()))
  return exit.ok
}
