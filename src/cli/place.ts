import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'

export { configFolder } from '../config/folder.ts'

/** Where the data is, and why there. */
export interface Place {
  /** A file, or a `postgres://` URL. */
  readonly target: string
  /** Given by a flag or SKEIN_DB, found in a project, or the user's own. */
  readonly kind: 'given' | 'project' | 'user'
  /** The folder that `.skein/` stands in, for a project's store. */
  readonly project: string | null
}

/** Finds the store: `--db`, SKEIN_DB, the nearest `.skein/conversations.db` above, the user's data folder. */
export function findPlace(
  given: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
  cwd: string,
): Place {
  const named = given || env.SKEIN_DB
  if (named) return { target: isUrl(named) ? named : resolve(cwd, named), kind: 'given', project: null }
  for (let folder = cwd; ; folder = dirname(folder)) {
    const file = join(folder, '.skein', 'conversations.db')
    if (existsSync(file)) return { target: file, kind: 'project', project: folder }
    if (dirname(folder) === folder) break
  }
  return { target: join(dataFolder(env), 'conversations.db'), kind: 'user', project: null }
}

function isUrl(target: string): boolean {
  return /^postgres(ql)?:\/\//.test(target) || target === ':memory:'
}

/** `~/.local/share/skein`, or what XDG_DATA_HOME says. */
export function dataFolder(env: Readonly<Record<string, string | undefined>>): string {
  return join(env.XDG_DATA_HOME || join(env.HOME || homedir(), '.local', 'share'), 'skein')
}

/** The key of a named conversation: a directory's own in the user's store, plain in a project's. */
export function keyOf(name: string, place: Place, cwd: string): string {
  return place.kind === 'project' ? `cli:${name}` : `cli:${name}@${cwd}`
}
