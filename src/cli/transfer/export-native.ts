import { statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { NotFoundError } from '../../core/errors.ts'
import type { ConversationId } from '../../core/ids.ts'
import type { ConversationReader, Lister } from '../../core/ports.ts'
import type { RecordMover, StoreRecord, UnreadableRecord } from '../../core/record.ts'
import { nativeEncoder } from '../../formats/native/encode.ts'
import { version } from '../../system/version.ts'
import { type Args, hasOption, textOption } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { stopOnInterrupt } from '../command-line/stop-on-interrupt.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { formatBytes, plural } from '../output/number.ts'
import { createProgressBar } from '../output/progress-bar.ts'
import { newestHere } from '../target/newest-here.ts'
import { conversationIds } from './conversation-ids.ts'
import { createNewFile } from './new-file.ts'
import { slugOf } from './slug.ts'
import { countsText, printUnreadable, type TransferCounts } from './transfer-text.ts'
import { yieldToEventLoop } from './yield-to-event-loop.ts'

/** Writes complete conversations to a file or stdout, in constant memory. */
export async function exportNative(
  args: Args,
  context: CommandContext,
  store: ConversationReader & Lister & RecordMover,
): Promise<number> {
  if (hasOption(args, 'html'))
    throw new UsageError('--html and the native format are two things', 'Choose one')
  const all = hasOption(args, 'all')
  if (all && args.arguments.length > 0)
    throw new UsageError('--all and an id contradict each other', 'Drop one')
  const named = all || args.arguments.length > 0 ? args.arguments : [await currentId(store, context)]
  const ids = await conversationIds(store, named, context)
  const file = await fileOf(args, context, store, all ? null : (ids[0] ?? null))
  if (file === null && context.json) {
    throw new UsageError('--json needs -o <file> here', 'Without it, the records themselves go to stdout')
  }
  // Nothing has to be cleaned up after writing to stdout.
  using stop = file === null ? null : stopOnInterrupt(context, { exits: true })
  using made = file === null ? null : createNewFile(file, hasOption(args, 'force'))
  const write = made
    ? chunked(async text => made.write(text))
    : chunked(async text => toStdout(context, text))
  const written = await writeAll(context, store, { ids, tasks: all }, write, stop?.signal)
  made?.finish()
  if (context.json) context.out.line(JSON.stringify(jsonOf(written, file, made?.bytes ?? 0)))
  else if (made && file !== null && !context.quiet) receipt(context, file, written, made.bytes)
  if (!context.json) printUnreadable(context, written.unreadable)
  return written.unreadable.length > 0 ? exitCode.failure : exitCode.ok
}

/** The conversation that `skein` without arguments would continue. */
async function currentId(store: Lister, context: CommandContext): Promise<string> {
  const { newest } = await newestHere(store, context)
  if (newest === null) throw new UsageError('export needs an id here', 'Everything: --all --native')
  return newest.conversation.id
}

interface WrittenFile {
  readonly amounts: TransferCounts
  readonly unreadable: readonly UnreadableRecord[]
}

async function writeAll(
  context: CommandContext,
  store: RecordMover,
  { ids, tasks }: { readonly ids: readonly ConversationId[]; readonly tasks: boolean },
  write: Chunks,
  signal: AbortSignal | undefined,
): Promise<WrittenFile> {
  const encoder = nativeEncoder()
  const amounts: TransferCounts = {}
  const unreadable: UnreadableRecord[] = []
  const progress = createProgressBar(context, 'exporting', 'conversations')
  try {
    await write.text(`${encoder.header(context.now(), `skein ${version()}`)}\n`)
    for (const [done, id] of ids.entries()) {
      for await (const record of yieldToEventLoop(stillThere(store, id))) {
        signal?.throwIfAborted()
        if (record.kind === 'unreadable') unreadable.push(record)
        else amounts[record.kind] = (amounts[record.kind] ?? 0) + 1
        for (const piece of encoder.text(record)) await write.text(piece)
      }
      progress.show(done + 1, ids.length)
    }
    if (tasks) {
      for await (const record of store.readTaskRecords()) {
        signal?.throwIfAborted()
        amounts.task = (amounts.task ?? 0) + 1
        for (const piece of encoder.text(record)) await write.text(piece)
      }
    }
    await write.text(`${encoder.end()}\n`)
    await write.flush()
  } finally {
    progress.end()
  }
  return { amounts, unreadable }
}

/** Skips a conversation that was purged after it was listed. */
async function* stillThere(
  store: RecordMover,
  id: ConversationId,
): AsyncGenerator<StoreRecord | UnreadableRecord> {
  try {
    yield* store.readRecords(id)
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error
  }
}

interface Chunks {
  text(piece: string): Promise<void>
  flush(): Promise<void>
}

/** Writes in chunks: writing each line costs more than encoding it. */
function chunked(put: (text: string) => Promise<void>): Chunks {
  let waiting = ''
  const flush = async () => {
    const text = waiting
    waiting = ''
    if (text !== '') await put(text)
  }
  return {
    flush,
    async text(piece) {
      waiting += piece
      if (waiting.length > 262_144) await flush()
    },
  }
}

/** Waits for a slow reader: the data may be larger than the memory. */
async function toStdout({ out }: CommandContext, text: string): Promise<void> {
  out.write(text)
  await out.drained()
}

/** The file to write; in a folder or on a terminal, named after the title. Null: stdout. */
async function fileOf(
  args: Args,
  context: CommandContext,
  store: ConversationReader,
  only: ConversationId | null,
): Promise<string | null> {
  const output = textOption(args, 'output')
  if (output === '-' || (output === undefined && !context.out.isTerminal)) return null
  const file = resolve(context.cwd, output ?? '.')
  const isFolder =
    output === undefined || /[/\\]$/.test(output) || statSync(file, { throwIfNoEntry: false })?.isDirectory()
  if (!isFolder) return file
  if (only === null) return join(file, 'conversations.jsonl')
  const { title } = await store.getConversation(only)
  return join(file, `${slugOf(title)}-${only.slice(0, 8)}.jsonl`)
}

function jsonOf({ amounts, unreadable }: WrittenFile, file: string | null, size: number) {
  return {
    format: 'native',
    file,
    conversations: amounts.conversation ?? 0,
    messages: amounts.message ?? 0,
    branches: amounts.branch ?? 0,
    blobs: amounts.blob ?? 0,
    bytes: size,
    unreadable: unreadable.map(({ conversationId, what, reason }) => ({
      conversation: conversationId,
      what,
      reason,
    })),
  }
}

function receipt(context: CommandContext, file: string, { amounts }: WrittenFile, size: number): void {
  const { style } = context.err
  const name = style.safe(dirname(file) === context.cwd ? basename(file) : file)
  const blobs = amounts.blob ? [plural(amounts.blob, 'large part')] : []
  const what = [countsText(amounts), ...blobs].join(', ')
  context.err.line([`exported ${what}`, name, formatBytes(size)].join(` ${style.symbols.dot} `))
}
