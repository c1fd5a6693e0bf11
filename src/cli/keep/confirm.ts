import { createInterface } from 'node:readline/promises'
import type { World } from '../world.ts'

/** Asks a question that is answered with y or n, on stderr; anything but yes is no. Ctrl+C throws AbortError. */
export async function confirm(question: string, world: World): Promise<boolean> {
  const lines = createInterface({
    input: world.stdin,
    output: world.err.stream,
    terminal: true,
    historySize: 0,
  })
  const stop = new AbortController()
  lines.on('SIGINT', () => stop.abort())
  // The end of the input is an answer too: no.
  lines.on('close', () => stop.abort())
  try {
    const answer = await lines.question(`${question} y/N `, {
      signal: AbortSignal.any([stop.signal, world.signal]),
    })
    return /^\s*y(es)?\s*$/i.test(answer)
  } catch (error) {
    world.err.line()
    throw error
  } finally {
    lines.close()
  }
}
