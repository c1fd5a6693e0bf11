import {
  closeSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { type CompiledCode, decodeCode, encodeCode } from './code-file.ts'

/** An installed command has no compiled code: the package serves all versions of Node. It keeps that of the
 *  commands that a user runs in `~/.cache/skein`. */

/** The folder, or null if HOME does not say where it is. Like `userFolder`, without what that imports: this
 *  file is compiled at each start. */
export function cacheFolder(env: NodeJS.ProcessEnv): string | null {
  if (env.XDG_CACHE_HOME && isAbsolute(env.XDG_CACHE_HOME)) return join(env.XDG_CACHE_HOME, 'skein')
  return env.HOME && isAbsolute(env.HOME) ? join(env.HOME, '.cache/skein') : null
}

/** Null if there is none, or if another user may have written it, as with `sudo` and the HOME of the caller:
 *  this process would run it. */
export function readUsersCode(file: string): CompiledCode | null {
  try {
    const fd = openSync(file, 'r')
    try {
      const { uid, mode } = fstatSync(fd)
      const isOurs = process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0)
      return isOurs ? decodeCode(readFileSync(fd)) : null
    } finally {
      closeSync(fd)
    }
  } catch {
    return null
  }
}

const dayMs = 86_400_000

/** Writes it, and removes files that were not used for a month, such as those of older versions. A folder
 *  that cannot be written is left alone: the next start takes as long as this one. */
export function keepUsersCode(folder: string, name: string, code: CompiledCode): void {
  const written = join(folder, `${name}.${process.pid}`)
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    writeDurably(written, encodeCode(code))
    renameSync(written, join(folder, name))
    for (const other of readdirSync(folder)) removeIfUnused(join(folder, other))
  } catch {
    try {
      rmSync(written, { force: true })
    } catch {
      // The folder could not be created.
    }
  }
}

/** V8 does not check all of it: after a power failure the file must be complete or missing. */
function writeDurably(file: string, bytes: Buffer): void {
  const fd = openSync(file, 'wx', 0o600)
  try {
    writeFileSync(fd, bytes)
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

function removeIfUnused(file: string): void {
  const { atimeMs, mtimeMs } = statSync(file)
  if (Date.now() - Math.max(atimeMs, mtimeMs) > 30 * dayMs) rmSync(file)
}
