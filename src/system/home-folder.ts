import { userInfo } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { InvalidError } from '../core/errors.ts'

/** The home folder of the user: HOME, or the folder of the user's account if HOME is empty or relative. Null
 *  if there is neither. A relative folder would put the user's files into the working directory. */
export function homeFolder(env: Readonly<Record<string, string | undefined>>): string | null {
  if (env.HOME && isAbsolute(env.HOME)) return env.HOME
  try {
    const { homedir } = userInfo()
    return isAbsolute(homedir) ? homedir : null
  } catch {
    return null // The user has no account, as in some containers.
  }
}

/** A folder of the XDG base directory specification: the one in `variable`, or `fallback` below the home
 *  folder. The specification says to ignore relative paths. Throws InvalidError without a home folder. */
export function userFolder(
  env: Readonly<Record<string, string | undefined>>,
  variable: 'XDG_DATA_HOME' | 'XDG_CONFIG_HOME' | 'XDG_STATE_HOME',
  fallback: string,
): string {
  const given = env[variable]
  if (given && isAbsolute(given)) return given
  const home = homeFolder(env)
  if (home === null) throw new InvalidError('HOME', 'is not set, and this user has no home folder: set HOME')
  return join(home, fallback)
}
