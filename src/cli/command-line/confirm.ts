import { createInterface } from 'node:readline/promises'
import type { CommandContext } from './command-context.ts'

/** Asks a y/n question on stderr. Every answer but yes means no. Ctrl+C throws AbortError. */
export async function confirm(question: string, context: CommandContext): Promise<boolean> {
  const lines = createInterface({
    input: context.stdin,
    output: context.err.stream,
    terminal: true,
    historySize: 0,
  })
  const stop = new AbortController()
  lines.on('SIGINT', () => stop.abort(new DOMException('interrupted', 'AbortError')))
  // A terminal that was closed cannot be read or set: its input has ended.
  lines.on('error', () => undefined)
  // The end of the input means no.
  const ended = new Promise<string>(resolve => lines.on('close', () => resolve('')))
  try {
    const signal = AbortSignal.any([stop.signal, context.signal])
    const answer = await Promise.race([lines.question(`${question} y/N `, { signal }), ended])
    return /^\s*y(es)?\s*$/i.test(answer)
  } catch (error) {
    context.err.line()
    throw error
  } finally {
    lines.close()
  }
}
