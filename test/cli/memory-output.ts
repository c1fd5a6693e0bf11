import { Writable } from 'node:stream'
import type { Output } from '../../src/cli/output/output.ts'
import { styleFor } from '../../src/cli/output/style.ts'

/** An output without a terminal that keeps what is written. */
export function memoryOutput(width = 80): Output & { readonly written: string[] } {
  const written: string[] = []
  return {
    written,
    isTerminal: false,
    width,
    rows: 24,
    style: styleFor({ isTerminal: false, env: {}, noColor: true }),
    write: text => void written.push(text),
    line: (text = '') => void written.push(`${text}\n`),
    drained: async () => undefined,
    stream: new Writable(),
  }
}
