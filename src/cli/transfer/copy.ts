import { existsSync, realpathSync } from 'node:fs'
import type { ConversationReader, Lister } from '../../core/ports.ts'
import type { RecordMover, UnreadableRecord } from '../../core/record.ts'
import { type RecordTally, type SourcedRecord, takeIn } from '../../core/take-in.ts'
import { openStore } from '../../stores/open.ts'
import { type CommandHandler, textOptions } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { stopOnInterrupt } from '../command-line/stop-on-interrupt.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { createProgressBar } from '../output/progress-bar.ts'
import { formatDuration } from '../output/time.ts'
import { locate, type StoreLocation } from '../store/store-location.ts'
import { conversationIds } from './conversation-ids.ts'
import { recordName } from './import.ts'
import { printSomeNotes, printUnreadable, tallyJson, transferText } from './transfer-text.ts'
import { yieldToEventLoop } from './yield-to-event-loop.ts'

interface Copied {
  readonly tally: RecordTally
  readonly conversations: number
  readonly unreadable: readonly UnreadableRecord[]
  readonly refused: readonly string[]
  readonly notes: readonly string[]
  readonly ms: number
}

/** `skein copy`: copies conversations between stores of any kind. Existing records are left alone. */
export const copyCommand: CommandHandler = async (args, context) => {
  const [from, to] = args.arguments.map(name => locate(name, context.cwd, 'store')) as [Located, Located]
  if (from.isFile && !existsSync(from.target)) throw new UsageError(`there is no store at ${from.target}`)
  if (isSame(from, to)) throw new UsageError('that is one store, not two', 'Name another to copy to')
  using stop = stopOnInterrupt(context, { exits: true })
  await using source = await openStore(from.target)
  // The next process that uses the store indexes what was copied. Here it would take time from the copy.
  await using target = await openStore(to.target, { indexing: 'manual' })
  const copied = await copyAll(context, source, target, textOptions(args, 'only'), stop.signal)
  if (context.json) context.out.line(JSON.stringify(jsonOf(copied)))
  else tell(context, copied)
  return copied.refused.length + copied.unreadable.length > 0 ? exitCode.failure : exitCode.ok
}

async function copyAll(
  context: CommandContext,
  source: ConversationReader & Lister & RecordMover,
  target: RecordMover,
  only: readonly string[],
  signal: AbortSignal,
): Promise<Copied> {
  const began = performance.now()
  const ids = await conversationIds(source, only, context)
  const unreadable: UnreadableRecord[] = []
  const refused: string[] = []
  const notes: string[] = []
  let done = 0
  const progress = createProgressBar(context, 'copying', 'conversations')
  try {
    const tally = await takeIn(target, records(), {
      signal,
      onSpecial: ({ record }, written) => {
        if (written.outcome === 'refused') refused.push(`${recordName(record)}: ${written.reason}`)
        else if (written.note !== null) notes.push(written.note)
      },
      onProgress: () => progress.show(done, ids.length),
    })
    return { tally, conversations: ids.length, unreadable, refused, notes, ms: performance.now() - began }
  } finally {
    progress.end()
  }

  async function* records(): AsyncGenerator<SourcedRecord> {
    for (const id of ids) {
      for await (const record of yieldToEventLoop(source.readRecords(id))) {
        signal.throwIfAborted()
        if (record.kind === 'unreadable') unreadable.push(record)
        else yield { record, file: '', line: 0 }
      }
      done++
    }
    if (only.length > 0) return
    for await (const record of source.readTaskRecords()) {
      signal.throwIfAborted()
      yield { record, file: '', line: 0 }
    }
  }
}

type Located = Pick<StoreLocation, 'target' | 'isFile'>

function isSame(from: Located, to: Located): boolean {
  if (from.target === to.target) return true
  if (!from.isFile || !to.isFile || !existsSync(to.target)) return false
  return realpathSync(from.target) === realpathSync(to.target)
}

function jsonOf({ tally, conversations, unreadable, refused, notes, ms }: Copied) {
  return {
    conversations,
    ...tallyJson(tally),
    refused_records: refused,
    unreadable: unreadable.map(({ conversationId, what, reason }) => ({
      conversation: conversationId,
      what,
      reason,
    })),
    notes,
    ms: Math.round(ms),
  }
}

function tell(context: CommandContext, { tally, refused, notes, unreadable, ms }: Copied): void {
  if (context.quiet) return
  const { dot } = context.err.style.symbols
  context.err.line(`${transferText(tally, 'copied', 'there')} ${dot} ${formatDuration(ms)}`)
  printSomeNotes(context, [...notes, ...refused])
  printUnreadable(context, unreadable)
}
