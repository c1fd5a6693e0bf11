import { closeSync, createReadStream, fstatSync, openSync, readSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { CommandContext } from '../command-line/command-context.ts'
import { UsageError } from '../command-line/usage-error.ts'

/** A file to import, or stdin. */
export interface NativeSource {
  /** As the user named it. */
  readonly name: string
  /** The number of messages that the file states; null if unknown. */
  readonly messages: number | null
  chunks(): AsyncIterable<Uint8Array>
}

/** Checks all named files before reading any: one missing file refuses the import. */
export function nativeSource(name: string, { cwd, stdin }: CommandContext): NativeSource {
  if (name === '-') {
    if (stdin.isTTY) throw new UsageError('- is stdin, and that is a terminal', 'Name a file, or pipe one in')
    return { name, messages: null, chunks: () => stdin as AsyncIterable<Uint8Array> }
  }
  const file = resolve(cwd, name)
  const there = name.includes('\0') ? undefined : statSync(file, { throwIfNoEntry: false })
  if (!there) throw new UsageError(`there is no file ${name}`)
  if (there.isDirectory()) throw new UsageError(`${name} is a folder`, 'Name the files in it')
  const messages = there.isFile() ? messagesIn(file) : null
  return { name, messages, chunks: () => createReadStream(file, { highWaterMark: 1_048_576 }) }
}

/** The count in the last line, without reading the rest. */
function messagesIn(file: string): number | null {
  const fd = openSync(file, 'r')
  try {
    const { size } = fstatSync(fd)
    const end = Buffer.alloc(Math.min(size, 4_096))
    readSync(fd, end, 0, end.length, size - end.length)
    const last: unknown = JSON.parse(end.toString().trimEnd().split('\n').at(-1) ?? '')
    const { counts } = last as { counts?: { message?: unknown } }
    return Number.isInteger(counts?.message) ? (counts?.message as number) : null
  } catch {
    return null
  } finally {
    closeSync(fd)
  }
}
