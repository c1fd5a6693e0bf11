import type { World } from '../command-line/command-context.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { bytes } from '../output/number.ts'
import { noteLine } from '../output/print.ts'
import { largestFile } from './attachments.ts'

/** After so long, a person wonders what is going on. */
const patienceMs = 3_000

/** What is piped in, to its end; null on a terminal, and if there is nothing. A program that starts this one and forgets to
 *  close its pipe would wait for ever without knowing why: it is told. */
export async function readInput(world: World): Promise<Buffer | null> {
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
