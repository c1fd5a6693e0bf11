import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The path of a program: a name is searched in `PATH`, a path is checked. Null if it cannot be started. */
export function findProgram(
  command: string,
  env: Readonly<Record<string, string | undefined>>,
): string | null {
  if (/[/\\]/.test(command)) return isProgram(command) ? command : null
  const names =
    process.platform === 'win32' ? ['.exe', '.cmd', '.bat', ''].map(end => command + end) : [command]
  for (const folder of (env.PATH ?? '').split(delimiter).filter(one => one !== ''))
    for (const name of names) if (isProgram(join(folder, name))) return join(folder, name)
  return null
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false // It is missing, or in a folder that may not be read.
  }
}
