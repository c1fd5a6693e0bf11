import type { Output, Outputs } from './output.ts'
import { wrapForTerminal } from './wrap.ts'

/** Prints a note to stderr, unless --quiet or --json is set. */
export function printNote(context: Outputs, text: string): void {
  const { err, quiet, json } = context
  if (!quiet && !json) err.line(wrapForTerminal(err.style.safe(text), err))
}

/** Writes lines in chunks and waits for a slow reader: a tree can be larger than the memory. */
export async function printLines(
  output: Output,
  lines: Iterable<string> | AsyncIterable<string>,
): Promise<void> {
  await printPieces(output, lines, '\n')
}

async function printPieces(
  output: Output,
  pieces: Iterable<string> | AsyncIterable<string>,
  end = '',
): Promise<void> {
  let waiting = ''
  const flush = async () => {
    output.write(waiting)
    waiting = ''
    await output.drained()
  }
  for await (const piece of pieces) {
    waiting += piece + end
    if (waiting.length > 65_536) await flush()
  }
  if (waiting !== '') await flush()
}

export function printJson(context: Outputs, value: unknown): void {
  context.out.line(JSON.stringify(value, null, context.out.isTerminal ? 2 : undefined))
}

/** A member of a JSON object: a value, or the items of a list, which may be too long for the memory. */
export type JsonMember =
  | { readonly name: string; readonly value: unknown }
  | { readonly name: string; readonly items: Iterable<unknown> | AsyncIterable<unknown> }

/** Prints an object as `printJson` does, but one item of its lists at a time. */
export async function printJsonObject(
  { out }: Outputs,
  members: Iterable<JsonMember> | AsyncIterable<JsonMember>,
): Promise<void> {
  const isPretty = out.isTerminal
  const jsonOf = (value: unknown, level: number) =>
    isPretty
      ? JSON.stringify(value, null, 2).replaceAll('\n', `\n${'  '.repeat(level)}`)
      : JSON.stringify(value)
  const line = (level: number) => (isPretty ? `\n${'  '.repeat(level)}` : '')
  const colon = isPretty ? ': ' : ':'
  await printPieces(out, pieces())

  async function* pieces(): AsyncGenerator<string> {
    let isFirst = true
    for await (const member of members) {
      yield `${isFirst ? '{' : ','}${line(1)}${JSON.stringify(member.name)}${colon}`
      isFirst = false
      if ('value' in member) yield jsonOf(member.value, 1)
      else {
        let isEmpty = true
        for await (const item of member.items) {
          yield `${isEmpty ? '[' : ','}${line(2)}${jsonOf(item, 2)}`
          isEmpty = false
        }
        yield isEmpty ? '[]' : `${line(1)}]`
      }
    }
    yield `${line(0)}}\n`
  }
}

/** Stored text as a field of tab-separated values. */
export function tsvField(context: Outputs, text: string): string {
  return context.out.style.safe(text).replace(/[\t\n]+/g, ' ')
}

/** `! text`, wrapped on a terminal. */
export function noteLine(note: string, output: Output): string {
  const { style } = output
  return wrapForTerminal(`${style.note(style.symbols.note)} ${style.safe(note)}`, output)
}
