import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { files } from './local-workspace.ts'

/** Where a path leads. */
export interface ProjectPath {
  /** Absolute, with all links followed. */
  readonly path: string
  /** Relative to the working directory if it is inside of it; for people. */
  readonly shown: string
  /** Why a person must be asked in every mode; null for an ordinary file of the project. */
  readonly reason: string | null
}

/** Resolves a path that a model wrote. Follows links, so that a link in the project cannot lead out of it
 *  unnoticed. */
export async function projectPath(
  written: string,
  directories: readonly [string, ...string[]],
): Promise<ProjectPath> {
  const [working] = directories
  const roots = await Promise.all(directories.map(withoutLinks))
  const path = await withoutLinks(resolve(working, written))
  const isInside = roots.some(root => isWithin(root, path))
  const shown = isWithin(roots[0]!, path) ? relative(roots[0]!, path) || '.' : path
  return { path, shown, reason: isInside ? reasonFor(path, shown) : 'outside the project' }
}

function reasonFor(path: string, shown: string): string | null {
  if (mayHoldSecrets(path)) return 'may contain secrets'
  // Its hooks and its configuration run commands.
  return shown.split(sep).includes('.git') ? 'inside .git' : null
}

export function isWithin(directory: string, path: string): boolean {
  return path === directory || path.startsWith(directory.endsWith(sep) ? directory : directory + sep)
}

/** The path with its links followed, as far as it exists. */
async function withoutLinks(path: string): Promise<string> {
  try {
    return await (await files()).realpath(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const parent = dirname(path)
    if ((code !== 'ENOENT' && code !== 'ENOTDIR') || parent === path) return path
    // A link to a file that does not exist yet: writing to it creates that file.
    const target = await (await files()).readlink(path).catch(() => null)
    if (target !== null) return withoutLinks(resolve(await withoutLinks(parent), target))
    return join(await withoutLinks(parent), basename(path))
  }
}

/** Names of files that usually hold keys or passwords. */
const secretNames = [
  /^\.env(\..+)?$/,
  /^\.(netrc|npmrc|pypirc|pgpass|git-credentials|htpasswd)$/,
  /^(id_(rsa|dsa|ecdsa|ed25519)|credentials|secrets?)(\.(json|ya?ml|toml|txt|ini))?$/,
  /\.(pem|key|p12|pfx|jks|keystore|kdbx)$/,
  /^service[-_]account.*\.json$/,
]
const harmlessNames = /\.(example|sample|template|dist|pub)$/
const secretFolders: ReadonlySet<string> = new Set(['.ssh', '.aws', '.gnupg', '.kube', '.docker', '.azure'])

/** Whether a file may hold keys or passwords, by its name. */
export function mayHoldSecrets(path: string): boolean {
  const name = basename(path).toLowerCase()
  if (harmlessNames.test(name)) return false
  if (path.split(sep).some(part => secretFolders.has(part.toLowerCase()))) return true
  return secretNames.some(pattern => pattern.test(name))
}
