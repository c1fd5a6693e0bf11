import type { Outputs, Paper } from './output.ts'

/** A line about the data, on stderr. */
export function note(world: Outputs, text: string): void {
  if (!world.quiet && !world.json) world.err.line(world.err.style.safe(text))
}

/** Writes lines, many at a time, and waits for a slow reader: a tree can be larger than the memory. */
export async function printLines(paper: Paper, lines: Iterable<string>): Promise<void> {
  let waiting = ''
  const flush = async () => {
    paper.write(waiting)
    waiting = ''
    await paper.drained()
  }
  for (const line of lines) {
    waiting += `${line}\n`
    if (waiting.length > 65_536) await flush()
  }
  if (waiting !== '') await flush()
}

export function writeJson(world: Outputs, value: unknown): void {
  world.out.line(JSON.stringify(value, null, world.out.isTerminal ? 2 : undefined))
}

/** Stored text as a field of a line of tab-separated values. */
export function field(world: Outputs, text: string): string {
  return world.out.style.safe(text).replace(/[\t\n]+/g, ' ')
}

/** `! something to know`. */
export function noteLine(note: string, { style }: Paper): string {
  return `${style.note(style.symbols.note)} ${style.safe(note)}`
}
