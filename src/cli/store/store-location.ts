import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { parseTarget } from '../../stores/check/target.ts'
import { userFolder } from '../../system/home-folder.ts'
import { tildify } from '../output/tildify.ts'

/** The location of a command's store, and why it was chosen. */
export interface StoreLocation {
  /** A file, a `postgres://` URL, or `:memory:`. */
  readonly target: string
  readonly isFile: boolean
  /** By a flag or SKEIN_DB, found in a project, or the user's own. */
  readonly kind: 'given' | 'project' | 'user'
  /** The folder that contains `.skein/`, for a project's store. */
  readonly project: string | null
  /** The value of `--db`, as typed. Absent without the option. */
  readonly typed?: string
}

/** Finds the store: `--db`, SKEIN_DB, the nearest `.skein/conversations.db` above, the user's data folder. */
export function findStore(
  given: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
  cwd: string,
): StoreLocation {
  // An empty variable counts as not set; an empty option is a mistake.
  if (given !== undefined)
    return { ...locate(given, cwd, '--db'), kind: 'given', project: null, typed: given }
  if (env.SKEIN_DB) return { ...locate(env.SKEIN_DB, cwd, 'SKEIN_DB'), kind: 'given', project: null }
  for (let folder = cwd; ; folder = dirname(folder)) {
    const file = join(folder, '.skein', 'conversations.db')
    if (existsSync(file)) return { target: file, isFile: true, kind: 'project', project: folder }
    if (dirname(folder) === folder) break
  }
  return { target: join(dataFolder(env), 'conversations.db'), isFile: true, kind: 'user', project: null }
}

/** The store that a user names in `field`: a file with its full path, a URL or `:memory:`. Throws
 *  InvalidError. */
export function locate(named: string, cwd: string, field: string): Pick<StoreLocation, 'target' | 'isFile'> {
  const found = parseTarget(named, field)
  if (found.engine === 'postgres') return { target: found.url, isFile: false }
  const isFile = found.path !== ':memory:'
  return { target: isFile ? resolve(cwd, found.path) : found.path, isFile }
}

/** `~/.local/share/skein`, or below XDG_DATA_HOME. */
export function dataFolder(env: Readonly<Record<string, string | undefined>>): string {
  return join(userFolder(env, 'XDG_DATA_HOME', '.local/share'), 'skein')
}

/** The path of a store that will be created; null if it exists. */
export function newStorePath({ location, env }: Located): string | null {
  const { target, isFile } = location()
  return !isFile || existsSync(target) ? null : tildify(target, env)
}

/** The location to print: a URL without its password; a file with `~` for people and in full for programs. */
export function shownLocation({ location, env, json }: Located & { readonly json: boolean }): string {
  const { target, isFile } = location()
  if (isFile || target === ':memory:') return json ? target : tildify(target, env)
  const url = new URL(target)
  if (url.password) url.password = '***'
  for (const name of [...url.searchParams.keys()]) {
    if (/pass|secret|key/i.test(name)) url.searchParams.set(name, '***')
  }
  return url.toString()
}

interface Located {
  location(): StoreLocation
  readonly env: Readonly<Record<string, string | undefined>>
}
