import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Output } from './output.ts'
import { printLines } from './print.ts'

type Env = Readonly<Record<string, string | undefined>>

/** Prints lines. On a terminal with fewer rows, uses a pager: PAGER, or `less -FIRX`. Reads the lines as the
 *  pager takes them, so that a long text needs little memory. */
export async function printPaged(
  { out, env }: { readonly out: Output; readonly env: Env },
  lines: Iterable<string> | AsyncIterable<string>,
  opensAt: 'start' | 'end',
): Promise<void> {
  const isPlain = !out.isTerminal || env.TERM === 'dumb' || /^\s*(cat)?\s*$/.test(env.PAGER ?? 'less')
  if (isPlain) return printLines(out, lines)
  const first: string[] = []
  const rest = asyncIterator(lines)
  while (first.length < out.rows) {
    const { value, done } = await rest.next()
    if (done) return printLines(out, first)
    first.push(value)
  }
  const unread = await readWith(env, chained(first, rest), opensAt)
  if (unread) await printLines(out, unread)
}

async function* asyncIterator(lines: Iterable<string> | AsyncIterable<string>): AsyncGenerator<string> {
  yield* lines
}

async function* chained(first: readonly string[], rest: AsyncIterable<string>): AsyncGenerator<string> {
  yield* first
  yield* rest
}

/** How many characters are written to the pager at once. */
const chunkSize = 65_536

/** A pager that has taken this much exists. */
const mostKept = 1_048_576

/** Returns null, or all lines if the pager does not exist. */
async function readWith(
  env: Env,
  lines: AsyncGenerator<string>,
  opensAt: 'start' | 'end',
): Promise<AsyncIterable<string> | null> {
  // Ctrl+C is for the pager, where it stops a search, and must not end this process first.
  const ignore = () => undefined
  process.on('SIGINT', ignore)
  try {
    const less = env.LESS ?? 'FIRX'
    const options = {
      stdio: ['pipe', 'inherit', 'inherit'] as ['pipe', 'inherit', 'inherit'],
      // A command in LESS works with every pager that is less, also with options in PAGER.
      env: { ...env, LESS: opensAt === 'end' ? `${less} +G` : less },
    }
    // PAGER is a shell command line.
    const child = env.PAGER ? spawn(env.PAGER, { ...options, shell: true }) : spawn('less', options)
    // The pager may be closed before it has read everything.
    child.stdin.on('error', ignore)
    let isOver = false
    const exists = new Promise<boolean>(resolve => {
      child.on('error', () => resolve(false))
      child.on('close', code => resolve(code !== 127))
    }).finally(() => {
      isOver = true
    })
    let kept: string[] | null = []
    let keptSize = 0
    while (!isOver) {
      const chunk: string[] = []
      let size = 0
      while (size < chunkSize) {
        const { value, done } = await lines.next()
        if (done) break
        chunk.push(value)
        size += value.length + 1
      }
      if (chunk.length === 0) break
      keptSize += size
      if (keptSize > mostKept) kept = null
      kept?.push(...chunk)
      const isFull = !child.stdin.write(`${chunk.join('\n')}\n`)
      if (isFull) await Promise.race([once(child.stdin, 'drain').catch(ignore), exists])
    }
    child.stdin.end()
    return (await exists) || kept === null ? null : chained(kept, lines)
  } finally {
    process.removeListener('SIGINT', ignore)
  }
}
