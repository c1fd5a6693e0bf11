import { readFile, stat } from 'node:fs/promises'
import { basename, extname, resolve } from 'node:path'
import type { MediaBlock } from '../../core/block.ts'
import { errorText } from '../../core/error-text.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { bytes } from '../output/number.ts'

/** No provider takes more in one request. */
export const largestFile = 20_000_000

/** What a model can read of a text at all: about half a million tokens. */
export const largestText = 2_000_000

/** How the bytes of files begin that are not text. */
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

/** Kinds of text that have a name of their own; all others are plain. */
const texts: Readonly<Record<string, string>> = {
  '.md': 'text/markdown',
  '.json': 'application/json',
  '.csv': 'text/csv',
  '.html': 'text/html',
  '.xml': 'application/xml',
  '.yaml': 'application/yaml',
  '.yml': 'application/yaml',
}

/** Reads a file that is to be sent along. Throws UsageError if it is not there, too large, or of no kind that any model takes. */
export async function attachFile(path: string, cwd: string): Promise<MediaBlock> {
  const file = resolve(cwd, path)
  try {
    const { size } = await stat(file)
    if (size > largestFile) throw tooLarge(path, size, largestFile)
    return blockOf(basename(file), await readFile(file))
  } catch (error) {
    throw error instanceof UsageError ? error : unreadable(path, error)
  }
}

/** Bytes as a block: an image, a sound, a video, or a file, whose text every model is shown. */
export function blockOf(name: string, data: Buffer): MediaBlock {
  if (data.length === 0) throw new UsageError(`${name} is empty`)
  if (data.length > largestFile) throw tooLarge(name, data.length, largestFile)
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

/** The text of bytes, or null if they are none. */
export function textIn(data: Buffer): string | null {
  if (data.includes(0)) return null
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(data)
  } catch {
    return null
  }
}

/** Characters that a model is shown of a block as text. */
export function charactersIn({ type, mime, data = '' }: MediaBlock): number {
  return type === 'file' && mime !== 'application/pdf' ? Buffer.byteLength(data, 'base64') : 0
}

function textKind(name: string, data: Buffer): string | null {
  if (textIn(data) === null) return null
  if (data.length > largestText) throw tooLarge(name, data.length, largestText)
  return texts[extname(name).toLowerCase()] ?? 'text/plain'
}

function tooLarge(name: string, size: number, limit: number): UsageError {
  return new UsageError(
    `${name} has ${bytes(size)}, at most ${bytes(limit)} can be sent`,
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
