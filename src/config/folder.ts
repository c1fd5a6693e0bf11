import { homedir } from 'node:os'
import { join } from 'node:path'

/** What a process is told by whoever starts it. */
export type Environment = Readonly<Record<string, string | undefined>>

/** `~/.config/skein`, or what XDG_CONFIG_HOME says. */
export function configFolder(env: Environment): string {
  return join(env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config'), 'skein')
}
