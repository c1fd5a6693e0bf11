import { appendFileSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { dataFolder } from '../../store/store-location.ts'

/** Lines typed in this and earlier runs, oldest first. */
export interface InputHistory {
  /** Those of this project, for Up. */
  readonly lines: readonly string[]
  /** Those of all projects, for Ctrl+R. */
  readonly all: readonly string[]
  add(line: string): void
}

/** A line and the folder of its project. Null: typed before projects were recorded. */
interface TypedLine {
  readonly text: string
  readonly project: string | null
}

/** The file of all chats. */
export function inputHistoryFile(env: Readonly<Record<string, string | undefined>>): string {
  return join(dataFolder(env), 'typed-lines')
}

/** The number of lines to keep. The file is rewritten when it has twice as many. */
const most = 5_000

/** Keeps the lines in a file that only its owner can read, or in memory without a file. Errors of the file
 *  are ignored: the messages themselves are in the store. */
export function openInputHistory(file: string | null, project: string): InputHistory {
  const typed = file === null ? [] : load(file)
  const lines = typed.filter(one => one.project === null || one.project === project).map(({ text }) => text)
  const all = typed.map(({ text }) => text)
  return {
    lines,
    all,
    add(text) {
      if (text.trim() === '' || lines.at(-1) === text) return
      lines.push(text)
      all.push(text)
      if (file !== null) append(file, { text, project })
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
  const others = new Map(linesOf(file).map(({ text }) => [text, collapse(text)]))
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
  const kept = lines.filter(({ text }) => !forgotten.has(text))
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

function load(file: string): readonly TypedLine[] {
  const lines = linesOf(file)
  if (lines.length > most * 2) {
    const newest = lines.slice(-most)
    quietly(() => writeFileSync(file, newest.map(encoded).join(''), { mode: 0o600 }))
    return newest
  }
  return lines.slice(-most)
}

function linesOf(file: string): readonly TypedLine[] {
  try {
    return readFileSync(file, 'utf8').split('\n').flatMap(read)
  } catch {
    return []
  }
}

function append(file: string, line: TypedLine): void {
  quietly(() => {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    appendFileSync(file, encoded(line), { mode: 0o600 })
  })
}

/** A line without a project is a plain string, as before. */
function encoded({ text, project }: TypedLine): string {
  return `${JSON.stringify(project === null ? text : { text, project })}\n`
}

/** A malformed line is skipped. */
function read(line: string): readonly TypedLine[] {
  if (line === '') return []
  try {
    const value: unknown = JSON.parse(line)
    if (typeof value === 'string') return [{ text: value, project: null }]
    const { text, project } = value as Partial<Record<keyof TypedLine, unknown>>
    return typeof text === 'string' && typeof project === 'string' ? [{ text, project }] : []
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
