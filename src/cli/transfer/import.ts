import { closeSync, createReadStream, fstatSync, openSync, readSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { StoreRecord } from '../../core/record.ts'
import { type RecordTally, type SourcedRecord, takeIn } from '../../core/take-in.ts'
import { decodeNative } from '../../formats/native/native-file.ts'
import { type Args, type CommandHandler, hasOption, textOption } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { stopOnInterrupt } from '../command-line/stop-on-interrupt.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { formatInteger, plural } from '../output/number.ts'
import { createProgressBar } from '../output/progress-bar.ts'
import { formatDuration } from '../output/time.ts'
import { skeinCommand } from '../store/skein-command.ts'
import { writeNewFile } from './new-file.ts'
import { printSomeNotes, tallyJson, transferText } from './transfer-text.ts'

/** A line of a file, with a remark about it. */
interface Remark {
  readonly file: string
  readonly line: number
  readonly text: string
}

interface Imported {
  readonly tally: RecordTally
  /** The first lines that were not imported, and the number of all of them. */
  readonly bad: readonly Remark[]
  readonly badCount: number
  /** Lines that were imported with a change, or skipped. */
  readonly notes: readonly Remark[]
  readonly ms: number
}

/** The most bad lines to hold: a file of another format has only bad lines. */
const mostHeld = 1_000

/** `skein import`: imports files in the native format. Bad lines are skipped and reported; then exit 1. */
export const importCommand: CommandHandler = async (args, context) => {
  const sources = args.arguments.map(name => nativeSource(name, context))
  const report = textOption(args, 'report')
  using stop = stopOnInterrupt(context, { exits: true })
  const imported = await importAll(context, sources, stop.signal)
  if (report !== undefined) writeReport(args, context, report, imported)
  if (context.json) context.out.line(JSON.stringify(jsonOf(sources, imported)))
  else tell(context, imported, sources, report)
  return imported.badCount > 0 ? exitCode.failure : exitCode.ok
}

async function importAll(
  context: CommandContext,
  sources: readonly NativeSource[],
  signal: AbortSignal,
): Promise<Imported> {
  const began = performance.now()
  const store = await context.store()
  const bad: Remark[] = []
  const notes: Remark[] = []
  let badCount = 0
  let messages = 0
  const total = sources.reduce<number | null>(
    (sum, source) => (sum === null || source.messages === null ? null : sum + source.messages),
    0,
  )
  const branches = activeBranches()
  const progress = createProgressBar(context, 'importing', 'messages')
  try {
    const tally = await takeIn(store, counted(), {
      signal,
      onSpecial: ({ file, line, record }, written) => {
        if (written.outcome === 'refused') {
          refuse(file, line, `${recordName(record)}: ${written.reason}`)
          branches.refused(record, line)
        } else note(file, line, written.note ?? '')
      },
      onProgress: () => {
        if (total !== null) progress.show(Math.min(messages, total), total)
      },
    })
    for (const missing of branches.missing())
      note(sources.at(-1)!.name, missing.line, lookFor(missing, context))
    bad.sort((a, b) => (a.file === b.file ? a.line - b.line : 0))
    return { tally, bad, badCount, notes, ms: performance.now() - began }
  } finally {
    progress.end()
  }

  /** One stream for all files, so that small records are written in batches. */
  async function* counted(): AsyncGenerator<SourcedRecord> {
    for (const source of sources) {
      const records = decodeNative(source.chunks(), {
        file: source.name,
        onProblem: problem => {
          if (problem.type === 'fault') refuse(source.name, problem.line, problem.reason)
          else note(source.name, problem.line, problem.text)
        },
      })
      for await (const one of records) {
        signal.throwIfAborted()
        if (one.record.kind === 'message') messages++
        branches.seen(one.record, one.line)
        yield one
      }
    }
  }

  function refuse(file: string, line: number, text: string): void {
    badCount++
    if (bad.length < mostHeld) bad.push({ file, line, text })
  }

  function note(file: string, line: number, text: string): void {
    if (notes.length < mostHeld) notes.push({ file, line, text })
  }
}

function lookFor({ conversation, branch }: MissingBranch, context: CommandContext): string {
  const skein = skeinCommand(context)
  const id = String(conversation).slice(0, 8)
  return `${id} came without its branch ${JSON.stringify(branch)}: ${skein} tree ${id} shows what is there, ${skein} fork continues it`
}

/** A record as a message names it. */
export function recordName(record: StoreRecord): string {
  switch (record.kind) {
    case 'conversation':
    case 'message':
    case 'tombstone':
    case 'task':
      return `${record.kind} ${String(record.id).slice(0, 40)}`
    case 'blob':
      return `blob ${String(record.hash).slice(0, 64)}`
    case 'turn':
      return `turn ${JSON.stringify(record.key)?.slice(0, 80)}`
    case 'branch':
      return `branch ${JSON.stringify(record.name)?.slice(0, 80)}`
    case 'event':
      return `event ${record.n}`
    default:
      return record.kind.replace('_', ' ')
  }
}

function writeReport(args: Args, context: CommandContext, report: string, { bad }: Imported): void {
  const lines = bad.map(({ file, line, text }) => `${JSON.stringify({ file, line, reason: text })}\n`)
  writeNewFile(resolve(context.cwd, report), lines.join(''), hasOption(args, 'force'))
}

function jsonOf(sources: readonly NativeSource[], { tally, bad, badCount, notes, ms }: Imported) {
  return {
    files: sources.map(({ name }) => name),
    ...tallyJson(tally),
    bad: badCount,
    bad_lines: bad.map(({ file, line, text }) => ({ file, line, reason: text })),
    notes: notes.map(({ file, line, text }) => ({ file, line, note: text })),
    ms: Math.round(ms),
  }
}

function tell(
  context: CommandContext,
  { tally, bad, badCount, notes, ms }: Imported,
  sources: readonly NativeSource[],
  report: string | undefined,
): void {
  if (context.quiet) return
  const { style } = context.err
  const { dot } = style.symbols
  context.err.line(`${transferText(tally, 'imported', 'here')} ${dot} ${formatDuration(ms)}`)
  printSomeNotes(
    context,
    notes.map(({ file, line, text }) => `${where(file, line)}: ${text}`),
  )
  if (badCount === 0) return
  const [first] = bad
  const mark = style.note(style.symbols.note)
  // A line can have several faults. They are counted as one line, as long as all are known.
  const places = new Map(bad.map(({ file, line }) => [`${file} ${line}`, line]))
  const lines = [...places.values()]
  const count = bad.length === badCount ? lines.length : badCount
  const more = count > 3 ? ` and ${formatInteger(count - 3)} more` : ''
  const hint = report === undefined ? `--report <file> lists the reasons` : `${style.safe(report)} has them`
  const skipped = `${plural(count, 'bad line')} skipped: ${lines.slice(0, 3).join(', ')}${more}`
  context.err.line(`${mark} ${skipped} ${dot} ${hint}`)
  if (first) context.err.line(style.safe(`  ${where(first.file, first.line)}: ${first.text}`))

  function where(file: string, line: number): string {
    return sources.length === 1 ? `line ${line}` : `${file}, line ${line}`
  }
}

/** A conversation whose active branch is missing from the file, or was refused. */
interface MissingBranch {
  readonly conversation: string
  readonly branch: string
  readonly line: number
}

/** Finds conversations that arrive without their active branch: they would look empty. */
interface ActiveBranches {
  seen(record: StoreRecord, line: number): void
  refused(record: StoreRecord, line: number): void
  missing(): Iterable<MissingBranch>
}

/** Holds only conversations that still wait for their branch. In a valid file that is one at a time. */
function activeBranches(): ActiveBranches {
  const waiting = new Map<string, MissingBranch>()
  return {
    seen(record, line) {
      if (record.kind === 'conversation') {
        waiting.set(record.id, { conversation: record.id, branch: record.activeBranch, line })
      } else if (record.kind === 'branch' && waiting.get(record.conversationId)?.branch === record.name) {
        waiting.delete(record.conversationId)
      }
    },
    refused(record, line) {
      if (record.kind === 'conversation') waiting.delete(record.id)
      if (record.kind !== 'branch') return
      const { conversationId: conversation, name: branch } = record
      waiting.set(conversation, { conversation, branch, line })
    },
    missing: () => waiting.values(),
  }
}

/** A file to import, or stdin. */
interface NativeSource {
  /** As the user named it. */
  readonly name: string
  /** The number of messages that the file states; null if unknown. */
  readonly messages: number | null
  chunks(): AsyncIterable<Uint8Array>
}

/** Checks all named files before reading any: one missing file refuses the import. */
function nativeSource(name: string, { cwd, stdin }: CommandContext): NativeSource {
  if (name === '-') {
    if (stdin.isTTY) throw new UsageError('- is stdin, and that is a terminal', 'Name a file, or pipe one in')
    return { name, messages: null, chunks: () => stdin as AsyncIterable<Uint8Array> }
  }
  const file = resolve(cwd, name)
  const there = name.includes('\0') ? undefined : statSync(file, { throwIfNoEntry: false })
  if (!there) throw new UsageError(`there is no file ${name}`)
  if (there.isDirectory()) throw new UsageError(`${name} is a folder`, 'Name the files in it')
  const messages = there.isFile() ? messagesIn(file) : null
  return { name, messages, chunks: () => createReadStream(file) }
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
