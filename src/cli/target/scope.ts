import { existsSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import type { ConversationFilter } from '../../core/listing.ts'
import { itemsOf } from '../../core/pages.ts'
import type { Lister } from '../../core/ports.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import type { StoreLocation } from '../store/store-location.ts'

/** The conversations that a command lists. */
export interface ConversationScope {
  readonly filter: Pick<ConversationFilter, 'directory'>
  /** As in a sentence: `in this project`. */
  readonly words: string
  /** False if `--all` would list more. */
  readonly isAll: boolean
}

type Env = Readonly<Record<string, string | undefined>>

/** Where a command runs. */
export type Workplace = Pick<CommandContext, 'cwd' | 'env'>

/** A folder with one of these is a project. In a git worktree or submodule, `.git` is a file. */
const markers = ['.skein', 'skein.yaml', 'skein.yml', '.git']

/** The project of a directory: the nearest folder at or above it with a marker, but never the home folder or
 *  the root. Without one, the directory itself. The directory need not exist any more. */
export function projectFolder(directory: string, env: Env): string {
  return findProject(directory, env) ?? directory
}

function findProject(directory: string, env: Env): string | null {
  const home = env.HOME || homedir()
  const never = new Set([home, realPath(home)])
  for (let folder = directory; dirname(folder) !== folder; folder = dirname(folder)) {
    if (!never.has(folder) && markers.some(name => existsSync(join(folder, name)))) return folder
  }
  return null
}

/** Whether conversations of this directory belong to the project of the working directory. */
export function isInProject(directory: string, { cwd, env }: Workplace): boolean {
  if (directory === cwd) return true
  const folder = projectFolder(cwd, env)
  const other = projectFolder(directory, env)
  return other === folder || realPath(other) === folder
}

/** The directories of the project that have conversations, and the working directory. A folder inside with a
 *  project of its own is left out; a folder that was deleted belongs to the project that it was in. */
export async function projectDirectories(
  store: Pick<Lister, 'listDirectories'>,
  { cwd, env }: Workplace,
  options: { readonly trashed?: boolean } = {},
): Promise<readonly string[]> {
  const folder = findProject(cwd, env)
  if (folder === null) return [cwd]
  const known = new Set([folder, cwd])
  for (const root of [folder, ...linkedFolders(folder, { cwd, env })]) {
    const stored = itemsOf(page => store.listDirectories({ ...options, ...page, within: root }))
    for await (const directory of stored) if (projectFolder(directory, env) === root) known.add(directory)
  }
  return [...known]
}

/** The same folder by the path of a symbolic link that the shell took. An editor may have recorded
 *  conversations under that path. */
function linkedFolders(folder: string, { cwd, env }: Workplace): readonly string[] {
  const { PWD: path } = env
  if (path === undefined || path === cwd || realPath(path) !== cwd) return []
  const linked = projectFolder(path, env)
  return realPath(linked) === folder ? [linked] : []
}

function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    // It does not exist, so it is not a link.
    return path
  }
}

/** `this project`, or `this directory` outside of every project. */
export function scopeName({ cwd, env }: Workplace): string {
  return findProject(cwd, env) === null ? 'this directory' : 'this project'
}

/** A store in `.skein/` is one scope. In every other store, each project is a scope. */
export async function conversationScope(
  store: Pick<Lister, 'listDirectories'>,
  context: Workplace & { location(): StoreLocation },
  { all, trashed = false }: { readonly all: boolean; readonly trashed?: boolean },
): Promise<ConversationScope> {
  if (all) return { filter: {}, words: 'in this store', isAll: true }
  const words = `in ${scopeName(context)}`
  if (hasOwnStore(context)) return { filter: {}, words, isAll: true }
  const directory = await projectDirectories(store, context, { trashed })
  return { filter: { directory }, words, isAll: false }
}

/** Whether the store is in the `.skein/` of the project itself. */
export function hasOwnStore({ cwd, env, location }: Workplace & { location(): StoreLocation }): boolean {
  return location().project === projectFolder(cwd, env)
}
