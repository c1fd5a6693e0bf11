import { type Block, isMedia, type MediaBlock } from '../../core/block.ts'
import type { NewMessage } from '../../core/message.ts'
import { estimateTokens } from '../../core/tokens.ts'
import { type Given, textOptions } from '../command-line/command.ts'
import type { World } from '../command-line/command-context.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { bytes } from '../output/number.ts'
import { noteLine } from '../output/print.ts'
import { attachFile, blockOf, charactersIn, largestFile, largestText, textIn } from './attachments.ts'

/** What was given to be asked, before it is known whether the word after `-c` belongs to it. */
export interface Asked {
  readonly prompt: string
  readonly files: readonly MediaBlock[]
  /** What was piped in. */
  readonly input: Buffer | null
}

/** Reads the arguments, the attachments and what is piped in. Throws UsageError. */
export async function readAsked(given: Given, world: World): Promise<Asked> {
  const files: MediaBlock[] = []
  for (const path of textOptions(given, 'attach')) files.push(await attachFile(path, world.cwd))
  return { prompt: given.arguments.join(' '), files, input: await readInput(world) }
}

/** The message: what is piped in is the prompt if there is no other, and a file beside it otherwise. Null if nothing is
 *  asked. `word` goes before the prompt. */
export function messageOf({ prompt, files, input }: Asked, word: string | null = null): NewMessage | null {
  const said = [word ?? '', prompt].filter(part => part.trim() !== '').join(' ')
  const piped = input === null ? null : said === '' ? promptIn(input) : blockOf('stdin', input)
  const words = typeof piped === 'string' ? piped : said
  const media = typeof piped === 'object' && piped !== null ? [...files, piped] : files
  if (words === '' && media.length === 0) return null
  if (media.length === 0) return { role: 'user', blocks: words }
  const blocks: readonly Block[] = words === '' ? media : [{ type: 'text', text: words }, ...media]
  return { role: 'user', blocks, tokens: tokensOf(blocks) }
}

/** A text file is shown to the model as its text, and has to be counted as such. */
function tokensOf(blocks: readonly Block[]): number {
  const isTextFile = (block: Block): block is MediaBlock => isMedia(block) && charactersIn(block) > 0
  const characters = blocks.filter(isTextFile).reduce((sum, block) => sum + charactersIn(block), 0)
  return estimateTokens(blocks.filter(block => !isTextFile(block))) + Math.ceil(characters / 4)
}

function promptIn(input: Buffer): string {
  const text = textIn(input)
  if (text === null)
    throw new UsageError('what was piped in is no text', 'Say what to do with it: … | skein "…"')
  if (input.length > largestText)
    throw new UsageError(`the prompt has ${bytes(input.length)}, at most ${bytes(largestText)} can be sent`)
  return text.trim() === '' ? '' : text.replace(/\s+$/, '')
}

/** After so long, a person wonders what is going on. */
const patienceMs = 3_000

/** What is piped in, to its end; null on a terminal, and if there is nothing. A program that starts this one and forgets to
 *  close its pipe would wait for ever without knowing why: it is told. */
async function readInput(world: World): Promise<Buffer | null> {
  const { stdin, err, quiet, json } = world
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
      if (size > largestFile)
        throw new UsageError(`stdin has more than ${bytes(largestFile)}`, 'Send a part of it')
      chunks.push(piece)
    }
    const all = Buffer.concat(chunks)
    return all.length === 0 ? null : all
  } finally {
    clearTimeout(reminder)
  }
}
