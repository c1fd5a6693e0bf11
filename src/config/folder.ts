import { homedir } from 'node:os'
import { join } from 'node:path'

/** The environment variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>

/** `~/.config/skein`, or the folder in XDG_CONFIG_HOME. */
export function configFolder(env: Environment): string {
  return join(env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config'), 'skein')
}
