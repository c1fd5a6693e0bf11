import { homedir } from 'node:os'

/** A path with `~` for the home, as a shell shows it. */
export function tildify(path: string, env: Readonly<Record<string, string | undefined>>): string {
  const home = env.HOME || homedir()
  return path === home || path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path
}
