import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** Lines typed in this and earlier runs, oldest first. */
export interface InputHistory {
  readonly lines: readonly string[]
  add(line: string): void
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

function load(file: string): string[] {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch {
    return []
  }
  const lines = text.split('\n').flatMap(read)
  if (lines.length > most * 2) {
    const newest = lines.slice(-most)
    quietly(() => writeFileSync(file, newest.map(encoded).join(''), { mode: 0o600 }))
    return newest
  }
  return lines.slice(-most)
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
