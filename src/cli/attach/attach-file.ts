import { readFile, stat } from 'node:fs/promises'
import { basename, extname, isAbsolute, relative, resolve } from 'node:path'
import type { MediaBlock } from '../../core/block.ts'
import { errorText } from '../../core/error-text.ts'
import { homeFolder } from '../../system/home-folder.ts'
import { isOpenDatabase } from '../../system/open-database.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { formatBytes } from '../output/number.ts'

/** Where paths start. */
export type PathBase = Pick<CommandContext, 'cwd' | 'env'>

/** The largest request that any provider accepts. */
export const maxFileBytes = 20_000_000

/** The largest text that a model can read: about half a million tokens. */
export const maxTextBytes = 2_000_000

/** The first bytes of file types that are not text. */
const beginnings: readonly (readonly [mime: string, test: (bytes: Buffer) => boolean])[] = [
  ['image/png', data => data.subarray(0, 8).equals(Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'))],
  ['image/jpeg', data => data.subarray(0, 3).equals(Buffer.from([0xff, 0xd8, 0xff]))],
  ['image/gif', data => /^GIF8[79]a/.test(data.toString('latin1', 0, 6))],
  ['image/webp', data => /^RIFF....WEBP/s.test(data.toString('latin1', 0, 12))],
  ['application/pdf', data => data.toString('latin1', 0, 5) === '%PDF-'],
  ['audio/wav', data => /^RIFF....WAVE/s.test(data.toString('latin1', 0, 12))],
  ['audio/mpeg', data => data.toString('latin1', 0, 3) === 'ID3' || (data[0] === 0xff && data[1] === 0xfb)],
  ['audio/ogg', data => data.toString('latin1', 0, 4) === 'OggS'],
  ['audio/flac', data => data.toString('latin1', 0, 4) === 'fLaC'],
  ['video/mp4', data => data.toString('latin1', 4, 8) === 'ftyp'],
  ['video/webm', data => data.subarray(0, 4).equals(Buffer.from([0x1a, 0x45, 0xdf, 0xa3]))],
]

/** MIME types of text files by extension. Default: text/plain. */
const texts: Readonly<Record<string, string>> = {
  '.md': 'text/markdown',
  '.json': 'application/json',
  '.csv': 'text/csv',
  '.html': 'text/html',
  '.xml': 'application/xml',
  '.yaml': 'application/yaml',
  '.yml': 'application/yaml',
}

/** Reads the files that a user names, in their order. */
export async function attachFiles(paths: readonly string[], base: PathBase): Promise<readonly MediaBlock[]> {
  const files: MediaBlock[] = []
  for (const path of paths) files.push(await attachFile(path, base))
  return files
}

/** Reads a file to attach. Its name is its path in the working directory, or the last part of another path.
 *  Throws UsageError if it is missing, too large, or of a type that no model accepts. */
export async function attachFile(path: string, base: PathBase): Promise<MediaBlock> {
  const file = resolvePath(path, base)
  try {
    const { size } = await stat(file)
    if (size > maxFileBytes) throw tooLarge(path, size, maxFileBytes)
    if (isOpenDatabase(file)) throw new UsageError(`${path} is a database that is in use`)
    return attachmentBlock(nameOf(file, base.cwd), await readFile(file))
  } catch (error) {
    throw error instanceof UsageError ? error : unreadable(path, error)
  }
}

/** The absolute path. `~` is the home folder, as in a shell. */
export function resolvePath(path: string, { cwd, env }: PathBase): string {
  const home = /^~(?=\/|$)/.test(path) ? homeFolder(env) : null
  return home === null ? resolve(cwd, path) : resolve(home, `.${path.slice(1)}`)
}

function nameOf(file: string, cwd: string): string {
  const inside = relative(cwd, file)
  return inside.startsWith('..') || isAbsolute(inside) ? basename(file) : inside
}

/** The bytes as an image, audio, video or file block. The text of a file is sent to every model. */
export function attachmentBlock(name: string, data: Buffer): MediaBlock {
  if (data.length === 0) throw new UsageError(`${name} is empty`)
  if (data.length > maxFileBytes) throw tooLarge(name, data.length, maxFileBytes)
  const mime = beginnings.find(([, test]) => test(data))?.[0] ?? textKind(name, data)
  if (mime === null)
    throw new UsageError(
      `${name} is neither text nor a picture, a sound, a video or a PDF`,
      'Convert it first',
    )
  const family = mime.split('/')[0]
  const type = family === 'image' || family === 'audio' || family === 'video' ? family : 'file'
  return { type, mime, name, data: data.toString('base64') }
}

/** The bytes as UTF-8 text; null if they are binary. */
export function decodeText(data: Buffer): string | null {
  if (data.includes(0)) return null
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(data)
  } catch {
    return null
  }
}

function textKind(name: string, data: Buffer): string | null {
  if (decodeText(data) === null) return null
  if (data.length > maxTextBytes) throw tooLarge(name, data.length, maxTextBytes)
  return texts[extname(name).toLowerCase()] ?? 'text/plain'
}

function tooLarge(name: string, size: number, limit: number): UsageError {
  return new UsageError(
    `${name} has ${formatBytes(size)}, at most ${formatBytes(limit)} can be sent`,
    'Send a part of it',
  )
}

function unreadable(path: string, error: unknown): UsageError {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'ENOENT' || code === 'ENOTDIR') return new UsageError(`there is no file ${path}`)
  if (code === 'EISDIR') return new UsageError(`${path} is a directory`, 'Attach files one by one: -a <file>')
  if (code === 'EACCES' || code === 'EPERM') return new UsageError(`${path} may not be read`)
  return new UsageError(`${path} cannot be read: ${errorText(error)}`)
}
