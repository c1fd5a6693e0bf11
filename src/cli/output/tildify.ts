import { homeFolder } from '../../system/home-folder.ts'

/** Writes the home folder of a path as `~`, as a shell does. */
export function tildify(path: string, env: Readonly<Record<string, string | undefined>>): string {
  const home = homeFolder(env)
  if (home === null) return path
  return path === home || path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path
}
