import { checkIterable, checkMethod, checkObject, checkTime } from '../../core/check.ts'
import { NotFoundError } from '../../core/errors.ts'
import type { ConversationId } from '../../core/ids.ts'
import type { RecordMover } from '../../core/record.ts'
import type { SourcedRecord } from '../../core/take-in.ts'
import type { TaskRecord } from '../../core/task-record.ts'
import { type Decoded, type NativeProblem, nativeDecoder } from './decode.ts'
import { nativeEncoder } from './encode.ts'
import { lineSplitter } from './split-lines.ts'

/** What the header of a native file says. */
export interface EncodeNativeOptions {
  /** The time in the header. */
  readonly writtenAt: Date
  /** The program in the header. Default: `skein`. */
  readonly by?: string
  /** Tasks to add after the conversations: `store.readTaskRecords()`. Default: none. */
  readonly tasks?: AsyncIterable<TaskRecord> | Iterable<TaskRecord>
}

/** The lines of a native file that holds these conversations, each with its line break. Conversations that
 *  are purged meanwhile are skipped. Unreadable parts get a line of their own. Reads page by page, so memory
 *  use does not depend on the size of a conversation.
 *
 * @example
 * ```ts
 * import { openStore } from 'skein'
 * import { decodeNative, encodeNative, takeIn } from 'skein/formats'
 *
 * await using store = await openStore(':memory:')
 * const { conversation, branch } = await store.create({ title: 'Harbour' })
 * await store.append(branch, null, [{ role: 'user', content: 'Hi' }])
 * const lines: string[] = []
 * const options = { writtenAt: new Date() }
 * for await (const line of encodeNative(store, [conversation.id], options)) lines.push(line)
 *
 * await using copy = await openStore(':memory:')
 * const { added } = await takeIn(copy, decodeNative(lines))
 * console.log(added.message, (await copy.getConversation(conversation.id)).title) // 1 Harbour
 * ```
 */
export async function* encodeNative(
  reader: Pick<RecordMover, 'readRecords'>,
  conversations: Iterable<ConversationId>,
  options: EncodeNativeOptions,
): AsyncGenerator<string> {
  checkMethod(reader, 'reader', 'readRecords', 'a store')
  checkObject(options, 'options', 'an object with writtenAt')
  const { writtenAt, by = 'skein', tasks = [] } = options
  checkTime(writtenAt, 'writtenAt')
  const encoder = nativeEncoder()
  yield `${encoder.header(writtenAt.getTime(), by)}\n`
  for (const id of conversations) {
    try {
      for await (const record of reader.readRecords(id))
        for (const line of encoder.record(record)) yield `${line}\n`
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error
    }
  }
  for await (const record of tasks) for (const line of encoder.record(record)) yield `${line}\n`
  yield `${encoder.end()}\n`
}

/** How to report what a native file lacks. */
export interface DecodeNativeOptions {
  /** The name of the file, for reports. */
  readonly file?: string
  /** Called for each damaged or unknown line. */
  readonly onProblem?: (problem: NativeProblem) => void
}

/** The records of a native file, with their lines. Damaged lines are reported and skipped. Throws
 *  InvalidError for a file of a newer major version. `takeIn` writes the records into a store.
 *
 * @example
 * ```ts
 * import { decodeNative } from 'skein/formats'
 *
 * const lines = ['{"kind":"header","format":"skein","version":"1.0"}\n', 'not JSON\n']
 * const onProblem = ({ line, type }: { line: number; type: string }) => console.log(line, type)
 * for await (const { record } of decodeNative(lines, { onProblem })) console.log(record.kind)
 * // 2 fault
 * ```
 */
export async function* decodeNative(
  chunks: AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string>,
  { file = '', onProblem }: DecodeNativeOptions = {},
): AsyncGenerator<SourcedRecord> {
  checkIterable(chunks, 'chunks')
  const splitter = lineSplitter()
  const decoder = nativeDecoder()
  const encoder = new TextEncoder()
  for await (const chunk of chunks) {
    const bytes = typeof chunk === 'string' ? encoder.encode(chunk) : chunk
    for (const line of splitter.push(bytes)) yield* recordsOf(decoder.take(line))
  }
  for (const line of splitter.end()) yield* recordsOf(decoder.take(line))
  yield* recordsOf(decoder.end())

  function* recordsOf(decoded: readonly Decoded[]): Generator<SourcedRecord> {
    for (const one of decoded) {
      if (one.type === 'record') yield { record: one.record, line: one.line, file }
      else onProblem?.(one)
    }
  }
}
