import { homedir } from 'node:os'

/** Writes the home folder of a path as `~`, as a shell does. */
export function tildify(path: string, env: Readonly<Record<string, string | undefined>>): string {
  const home = env.HOME || homedir()
  return path === home || path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path
}
