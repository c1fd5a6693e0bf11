import { statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { NotFoundError } from '../../core/errors.ts'
import type { ConversationId } from '../../core/ids.ts'
import type { ConversationReader, Lister, RecordMover } from '../../core/ports.ts'
import type { StoreRecord, UnreadableRecord } from '../../core/record.ts'
import { nativeEncoder } from '../../formats/native/encode.ts'
import { type Given, hasOption, textOption } from '../command-line/command.ts'
import type { World } from '../command-line/command-context.ts'
import { exit } from '../command-line/exit-code.ts'
import { stopOnInterrupt } from '../command-line/stop-on-interrupt.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { version } from '../command-line/version.ts'
import { bytes, plural } from '../output/number.ts'
import { progressLine } from '../output/progress-line.ts'
import { conversationsOf } from './conversations-of.ts'
import { type Amounts, amountsText, noAmounts, tellUnreadable } from './moved-text.ts'
import { newFile } from './new-file.ts'
import { slugOf } from './slug.ts'
import { breathing } from './yield-to-event-loop.ts'

/** Writes conversations with all that is stored of them, to a file or to stdout, in little memory. */
export async function exportNative(
  given: Given,
  world: World,
  store: ConversationReader & Lister & RecordMover,
): Promise<number> {
  if (hasOption(given, 'html'))
    throw new UsageError('--html and the native format are two things', 'Choose one')
  const all = hasOption(given, 'all')
  if (all === given.arguments.length > 0) {
    throw new UsageError(
      all ? '--all and an id are two things' : 'no conversation is named',
      'Name one, or: --all',
    )
  }
  const ids = await conversationsOf(store, given.arguments)
  const file = await fileOf(given, world, store, all ? null : (ids[0] ?? null))
  if (file === null && world.json) {
    throw new UsageError('--json needs -o <file> here', 'Without it, the records themselves go to stdout')
  }
  using stop = stopOnInterrupt(world)
  using made = file === null ? null : newFile(file, hasOption(given, 'force'))
  const write = made ? chunked(async text => made.write(text)) : chunked(async text => toStdout(world, text))
  const written = await writeAll(world, store, ids, write, stop.signal)
  made?.finish()
  if (world.json) world.out.line(JSON.stringify(jsonOf(written, file, made?.bytes ?? 0)))
  else if (made && file !== null && !world.quiet) receipt(world, file, written, made.bytes)
  if (!world.json) tellUnreadable(world, written.unreadable)
  return written.unreadable.length > 0 ? exit.failure : exit.ok
}

interface WrittenFile {
  readonly amounts: Amounts
  readonly unreadable: readonly UnreadableRecord[]
}

async function writeAll(
  world: World,
  store: RecordMover,
  ids: readonly ConversationId[],
  write: Chunks,
  signal: AbortSignal,
): Promise<WrittenFile> {
  const encoder = nativeEncoder()
  const amounts = noAmounts()
  const unreadable: UnreadableRecord[] = []
  const progress = progressLine(world, 'exporting', 'conversations')
  try {
    await write.line(encoder.header(world.now(), `skein ${version()}`))
    for (const [done, id] of ids.entries()) {
      for await (const record of breathing(stillThere(store, id))) {
        signal.throwIfAborted()
        if (record.kind === 'unreadable') unreadable.push(record)
        else amounts[record.kind] = (amounts[record.kind] ?? 0) + 1
        for (const line of encoder.record(record)) await write.line(line)
      }
      progress.show(done + 1, ids.length)
    }
    await write.line(encoder.end())
    await write.flush()
  } finally {
    progress.end()
  }
  return { amounts, unreadable }
}

/** What was removed for good since it was listed is passed over. */
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
  line(text: string): Promise<void>
  flush(): Promise<void>
}

/** Many lines at a time: one by one costs more than making them. */
function chunked(put: (text: string) => Promise<void>): Chunks {
  let waiting = ''
  const flush = async () => {
    const text = waiting
    waiting = ''
    if (text !== '') await put(text)
  }
  return {
    flush,
    async line(text) {
      waiting += `${text}\n`
      if (waiting.length > 262_144) await flush()
    },
  }
}

/** Waits for a slow reader: the data may be larger than the memory. */
async function toStdout({ out }: World, text: string): Promise<void> {
  out.write(text)
  await out.drained()
}

/** In a folder, and on a terminal, the name is made from the title. Null: stdout. */
async function fileOf(
  given: Given,
  world: World,
  store: ConversationReader,
  only: ConversationId | null,
): Promise<string | null> {
  const output = textOption(given, 'output')
  if (output === '-' || (output === undefined && !world.out.isTerminal)) return null
  const file = resolve(world.cwd, output ?? '.')
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

function receipt(world: World, file: string, { amounts }: WrittenFile, size: number): void {
  const { style } = world.err
  const name = style.safe(dirname(file) === world.cwd ? basename(file) : file)
  const blobs = amounts.blob ? [plural(amounts.blob, 'large part')] : []
  const what = [amountsText(amounts), ...blobs].join(', ')
  world.err.line([`exported ${what}`, name, bytes(size)].join(` ${style.symbols.dot} `))
}
