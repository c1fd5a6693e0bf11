import { dirname } from 'node:path'
import { isOpenDatabase } from '../../system/open-database.ts'
import type { Workspace } from './workspace.ts'

/** Loaded on first use: it makes the start of a program slower. */
export const files = () => import('node:fs/promises')

/** The largest file that is read as a text. */
const mostBytes = 10 * 1024 * 1024

/** Works on the files and with the shell of this machine. */
export function localWorkspace(directories: Workspace['directories']): Workspace {
  return {
    directories,
    readText: readTextFile,
    async writeText(path, text, signal) {
      const { mkdir, writeFile } = await files()
      await mkdir(dirname(path), { recursive: true })
      // In place: mode, owner and links of the file stay as they are.
      await writeFile(path, text, { signal })
    },
    run: async (command, signal) => (await import('./run-shell.ts')).runShell(command, signal),
  }
}

/** Reads a file of this machine as UTF-8. Throws an error for the model. */
export async function readTextFile(path: string, signal: AbortSignal): Promise<string> {
  const { readFile, stat } = await files()
  const { size } = await stat(path).catch(error => {
    throw fileError(error, path)
  })
  if (size > mostBytes) throw new Error(`${path} is too large: ${size} bytes`)
  if (isOpenDatabase(path)) throw new Error(`${path} is a database that is in use`)
  const bytes = await readFile(path, { signal }).catch(error => {
    signal.throwIfAborted()
    throw fileError(error, path)
  })
  return textOfBytes(bytes, path)
}

/** The text of a file. Throws if it is not UTF-8, so that an edit cannot damage it. */
export function textOfBytes(bytes: Uint8Array, path: string): string {
  if (bytes.subarray(0, 8_192).includes(0)) throw new Error(`${path} is not a text file`)
  try {
    // The mark at the beginning of some files is kept.
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new Error(`${path} is not UTF-8 text`)
  }
}

function fileError(error: NodeJS.ErrnoException, path: string): Error {
  if (error.code === 'ENOENT') return new Error(`there is no file ${path}`)
  if (error.code === 'EISDIR') return new Error(`${path} is a directory`)
  if (error.code === 'EACCES') return new Error(`${path} cannot be read: permission denied`)
  return error
}
