import { appendFileSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { dataFolder } from '../../store/store-location.ts'

/** Lines typed in this and earlier runs, oldest first. */
export interface InputHistory {
  readonly lines: readonly string[]
  add(line: string): void
}

/** The file of all chats. */
export function inputHistoryFile(env: Readonly<Record<string, string | undefined>>): string {
  return join(dataFolder(env), 'typed-lines')
}

/** The number of lines to keep. The file is rewritten when it has twice as many. */
const most = 1_000

/** Keeps the lines in a file that only its owner can read, or in memory without a file. Errors of the file
 *  are ignored: the messages themselves are in the store. */
export function openInputHistory(file: string | null): InputHistory {
  const lines = file === null ? [] : load(file)
  return {
    lines,
    add(line) {
      if (line.trim() === '' || lines.at(-1) === line) return
      lines.push(line)
      if (file !== null) append(file, line)
    },
  }
}

/** The shortest text that is also looked for inside other lines. A shorter one must be a whole line. */
const shortestPart = 8

/** The lines that repeat one of these texts, or a part of it. Reads the texts one after the other. */
export async function repeatedInputs(
  file: string,
  texts: Iterable<string> | AsyncIterable<string>,
): Promise<ReadonlySet<string>> {
  const others = new Map(linesOf(file).map(line => [line, collapse(line)]))
  const repeated = new Set<string>()
  if (others.size === 0) return repeated
  for await (const text of texts) {
    const words = collapse(text)
    if (words === '') continue
    for (const [line, collapsed] of others) {
      if (!repeats(collapsed, words)) continue
      repeated.add(line)
      others.delete(line)
    }
  }
  return repeated
}

/** Removes these lines and returns their number. Throws if the file cannot be written. */
export function forgetInputs(file: string, forgotten: ReadonlySet<string>): number {
  const lines = linesOf(file)
  const kept = lines.filter(line => !forgotten.has(line))
  if (kept.length < lines.length) {
    // Renamed: a chat that appends at the same time must not find half a file.
    writeFileSync(`${file}.new`, kept.map(encoded).join(''), { mode: 0o600 })
    renameSync(`${file}.new`, file)
  }
  return lines.length - kept.length
}

function repeats(line: string, text: string): boolean {
  if (line === text) return true
  const [part, whole] = line.length < text.length ? [line, text] : [text, line]
  return part.length >= shortestPart && whole.includes(part)
}

function collapse(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

function load(file: string): string[] {
  const lines = linesOf(file)
  if (lines.length > most * 2) {
    const newest = lines.slice(-most)
    quietly(() => writeFileSync(file, newest.map(encoded).join(''), { mode: 0o600 }))
    return newest
  }
  return lines.slice(-most)
}

function linesOf(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').split('\n').flatMap(read)
  } catch {
    return []
  }
}

function append(file: string, line: string): void {
  quietly(() => {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    appendFileSync(file, encoded(line), { mode: 0o600 })
  })
}

function encoded(line: string): string {
  return `${JSON.stringify(line)}\n`
}

/** A malformed line is skipped. */
function read(line: string): readonly string[] {
  if (line === '') return []
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'string' ? [value] : []
  } catch {
    return []
  }
}

function quietly(write: () => void): void {
  try {
    write()
  } catch {
    // The history is not worth failing for: the disk may be full, or the home read-only.
  }
}
