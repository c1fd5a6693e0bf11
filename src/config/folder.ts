import { join } from 'node:path'
import { userFolder } from '../system/home-folder.ts'

/** The environment variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>

/** `~/.config/skein`, or the folder in XDG_CONFIG_HOME. */
export function configFolder(env: Environment): string {
  return join(userFolder(env, 'XDG_CONFIG_HOME', '.config'), 'skein')
}

/** `~/.local/state/skein`, or the folder in XDG_STATE_HOME: what the user has answered. */
export function stateFolder(env: Environment): string {
  return join(userFolder(env, 'XDG_STATE_HOME', '.local/state'), 'skein')
}
