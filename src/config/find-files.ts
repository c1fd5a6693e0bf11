import { statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { configFolder, type Environment } from './folder.ts'

export interface FoundFiles {
  /** In ascending order of precedence: the user's file, then the project's. */
  readonly files: readonly string[]
  readonly ignored: readonly string[]
}

const names = ['skein.yaml', 'skein.yml']

/** Finds the user's file, and the nearest file in or above the working directory. */
export function findFiles(cwd: string, env: Environment): FoundFiles {
  const ignored: string[] = []
  const users = inFolder(configFolder(env), ignored)
  let project: string | undefined
  for (let folder = cwd; !project; folder = dirname(folder)) {
    project = inFolder(folder, ignored)
    if (dirname(folder) === folder) break
  }
  return { files: [...new Set([users, project].filter(file => file !== undefined))], ignored }
}

function inFolder(folder: string, ignored: string[]): string | undefined {
  for (const name of names) {
    const file = join(folder, name)
    const found = statSync(file, { throwIfNoEntry: false })
    if (!found?.isFile()) continue
    if (isOurs(found.uid)) return file
    ignored.push(`${file} belongs to another user`)
  }
  return undefined
}

/** A file names programs to start, so a file of another user above the working directory (in /tmp, for
 *  example) is ignored. */
function isOurs(uid: number): boolean {
  const own = process.getuid?.()
  return own === undefined || own === 0 || uid === own || uid === 0
}
