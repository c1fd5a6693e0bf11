import { type Dirent, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type PathBase, resolvePath } from './attach-file.ts'

/** A file or a folder that completes a path. A folder ends with a slash. */
export interface PathCandidate {
  readonly path: string
  /** The last part of the path, as a list shows it. */
  readonly name: string
  readonly isFolder: boolean
}

/** The files and folders whose path begins with the typed one, folders first. Hidden ones are listed only
 *  after a dot. */
export function completePath(typed: string, base: PathBase): readonly PathCandidate[] {
  const slash = typed.lastIndexOf('/') + 1
  const [folder, start] = [typed.slice(0, slash), typed.slice(slash)]
  if (typed === '~') return [{ path: '~/', name: '~/', isFolder: true }]
  const where = resolvePath(folder === '' ? '.' : folder, base)
  const found = entriesOf(where)
    .filter(({ name }) => name.startsWith(start) && (start.startsWith('.') || !name.startsWith('.')))
    .map(entry => {
      const isFolder = isFolderAt(entry, where)
      const name = `${entry.name}${isFolder ? '/' : ''}`
      return { path: `${folder}${name}`, name, isFolder }
    })
  return found.toSorted((a, b) => Number(b.isFolder) - Number(a.isFolder) || a.name.localeCompare(b.name))
}

function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return [] // There is no such folder, or it may not be read.
  }
}

function isFolderAt(entry: Dirent, folder: string): boolean {
  if (!entry.isSymbolicLink()) return entry.isDirectory()
  return statSync(join(folder, entry.name), { throwIfNoEntry: false })?.isDirectory() ?? false
}
