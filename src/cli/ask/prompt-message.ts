import type { MediaBlock } from '../../core/block.ts'
import type { NewMessage } from '../../core/message.ts'
import {
  attachFiles,
  attachmentBlock,
  decodeText,
  maxFileBytes,
  maxTextBytes,
} from '../attach/attach-file.ts'
import { messageWith } from '../attach/message-with.ts'
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
  const files = await attachFiles(textOptions(args, 'attach'), context)
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
  return messageWith(text, media)
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
  const { stdin, err, quiet, json, signal } = context
  if (stdin.isTTY) return null
  const stop = () => stdin.destroy(signal.reason as Error)
  signal.addEventListener('abort', stop, { once: true })
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
  } catch (error) {
    // nohup replaces a terminal by an input that cannot be read.
    if (error instanceof Error && 'code' in error && error.code === 'EBADF') return null
    throw error
  } finally {
    clearTimeout(reminder)
    signal.removeEventListener('abort', stop)
  }
}
