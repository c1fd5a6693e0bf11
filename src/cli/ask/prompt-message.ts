import { readFile, stat } from 'node:fs/promises'
import { basename, extname, resolve } from 'node:path'
import type { Block, MediaBlock } from '../../core/block.ts'
import { errorText } from '../../core/error-text.ts'
import type { NewMessage } from '../../core/message.ts'
import { type Args, textOptions } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { formatBytes } from '../output/number.ts'
import { noteLine } from '../output/print.ts'

/** The parts of a prompt, before it is known whether the words after `-c` are the prompt. */
export interface PromptParts {
  readonly prompt: string
  readonly files: readonly MediaBlock[]
  /** The bytes on stdin. */
  readonly input: Buffer | null
}

/** Reads the arguments, the attachments and stdin. Throws UsageError. */
export async function readPromptParts(args: Args, context: CommandContext): Promise<PromptParts> {
  const files: MediaBlock[] = []
  for (const path of textOptions(args, 'attach')) files.push(await attachFile(path, context.cwd))
  return { prompt: args.arguments.join(' '), files, input: await readStdin(context) }
}

/** The message to send. stdin is the prompt if there is no other, and an attached file otherwise. `words`
 *  are the prompt that followed `-c`. Null if there is nothing to send. */
export function promptMessage(
  { prompt, files, input }: PromptParts,
  words: string | null = null,
): NewMessage | null {
  const said = [words ?? '', prompt].filter(part => part.trim() !== '').join(' ')
  const piped = input === null ? null : said === '' ? promptIn(input) : attachmentBlock('stdin', input)
  const text = typeof piped === 'string' ? piped : said
  const media = typeof piped === 'object' && piped !== null ? [...files, piped] : files
  if (text === '' && media.length === 0) return null
  if (media.length === 0) return { role: 'user', content: text }
  const blocks: readonly Block[] = text === '' ? media : [{ type: 'text', text }, ...media]
  return { role: 'user', content: blocks }
}

function promptIn(input: Buffer): string {
  const text = decodeText(input)
  if (text === null)
    throw new UsageError('the piped input is not text', 'Say what to do with it: … | skein "…"')
  if (input.length > maxTextBytes)
    throw new UsageError(
      `the prompt has ${formatBytes(input.length)}, at most ${formatBytes(maxTextBytes)} can be sent`,
    )
  return text.trim() === '' ? '' : text.replace(/\s+$/, '')
}

/** How long to wait for stdin before printing a hint. */
const patienceMs = 3_000

/** All of stdin; null on a terminal, and if it is empty. Prints a hint if the end does not come, because a
 *  caller that forgets to close its pipe would hang without a message. */
async function readStdin(context: CommandContext): Promise<Buffer | null> {
  const { stdin, err, quiet, json } = context
  if (stdin.isTTY) return null
  const reminder = setTimeout(() => {
    if (!quiet && !json)
      err.line(noteLine('waiting for the end of stdin (give it < /dev/null if there is none)', err))
  }, patienceMs)
  try {
    const chunks: Buffer[] = []
    let size = 0
    for await (const chunk of stdin) {
      const piece = Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk))
      size += piece.length
      if (size > maxFileBytes)
        throw new UsageError(`stdin has more than ${formatBytes(maxFileBytes)}`, 'Send a part of it')
      chunks.push(piece)
    }
    const all = Buffer.concat(chunks)
    return all.length === 0 ? null : all
  } finally {
    clearTimeout(reminder)
  }
}

/** The largest request that any provider accepts. */
const maxFileBytes = 20_000_000

/** The largest text that a model can read: about half a million tokens. */
const maxTextBytes = 2_000_000

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

/** Reads a file to attach. Throws UsageError if it is missing, too large, or of a type that no model
 *  accepts. */
export async function attachFile(path: string, cwd: string): Promise<MediaBlock> {
  const file = resolve(cwd, path)
  try {
    const { size } = await stat(file)
    if (size > maxFileBytes) throw tooLarge(path, size, maxFileBytes)
    return attachmentBlock(basename(file), await readFile(file))
  } catch (error) {
    throw error instanceof UsageError ? error : unreadable(path, error)
  }
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
function decodeText(data: Buffer): string | null {
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
