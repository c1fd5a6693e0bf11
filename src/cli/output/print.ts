import type { Output, Outputs } from './output.ts'

/** Prints a note to stderr, unless --quiet or --json is set. */
export function printNote(context: Outputs, text: string): void {
  if (!context.quiet && !context.json) context.err.line(context.err.style.safe(text))
}

/** Writes lines in chunks and waits for a slow reader: a tree can be larger than the memory. */
export async function printLines(
  output: Output,
  lines: Iterable<string> | AsyncIterable<string>,
): Promise<void> {
  let waiting = ''
  const flush = async () => {
    output.write(waiting)
    waiting = ''
    await output.drained()
  }
  for await (const line of lines) {
    waiting += `${line}\n`
    if (waiting.length > 65_536) await flush()
  }
  if (waiting !== '') await flush()
}

export function printJson(context: Outputs, value: unknown): void {
  context.out.line(JSON.stringify(value, null, context.out.isTerminal ? 2 : undefined))
}

/** Stored text as a field of tab-separated values. */
export function tsvField(context: Outputs, text: string): string {
  return context.out.style.safe(text).replace(/[\t\n]+/g, ' ')
}

/** `! text`. */
export function noteLine(note: string, { style }: Output): string {
  return `${style.note(style.symbols.note)} ${style.safe(note)}`
}
