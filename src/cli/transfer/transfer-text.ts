import type { RecordKind, UnreadableRecord } from '../../core/record.ts'
import type { RecordTally } from '../../core/take-in.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { formatInteger, plural } from '../output/number.ts'

/** The number of records of each kind. */
export type TransferCounts = Partial<Record<RecordKind, number>>

/** `312 conversations, 20,101 messages, 18 branches`; zero counts are left out. */
export function countsText(amounts: TransferCounts): string {
  const parts = [
    ['conversation', plural(amounts.conversation ?? 0, 'conversation')],
    ['message', plural(amounts.message ?? 0, 'message')],
    ['branch', plural(amounts.branch ?? 0, 'branch', 'branches')],
    ['task', plural(amounts.task ?? 0, 'task')],
  ] as const
  const there = parts.filter(([kind]) => amounts[kind])
  if (there.length > 0) return there.map(([, text]) => text).join(', ')
  const others = Object.values(amounts).reduce((sum, count) => sum + count, 0)
  return plural(others, 'record')
}

const kinds: readonly RecordKind[] = [
  'conversation',
  'message',
  'tombstone',
  'blob',
  'turn',
  'draft',
  'summary',
  'event',
  'branch',
  'agent_link',
  'task',
]

/** For programs: every kind, including zero counts. */
export function tallyJson({ added, present, advanced, refused }: RecordTally) {
  const every = (amounts: TransferCounts) => Object.fromEntries(kinds.map(kind => [kind, amounts[kind] ?? 0]))
  return {
    added: every(added),
    present: every(present),
    advanced: every(advanced),
    refused: every(refused),
  }
}

/** Whether nothing was written. */
function isNothingNew({ added, advanced }: RecordTally): boolean {
  return Object.keys(added).length === 0 && Object.keys(advanced).length === 0
}

/** `imported 312 conversations, 20,101 messages`, or that everything existed. */
export function transferText(tally: RecordTally, verb: string, where: 'here' | 'there'): string {
  const { added, advanced, present } = tally
  if (!isNothingNew(tally)) {
    const grown = advanced.branch ? `, ${plural(advanced.branch, 'branch', 'branches')} moved on` : ''
    const news = Object.keys(added).length > 0 ? added : advanced
    return `${verb} ${countsText(news)}${news === added ? grown : ''}`
  }
  const conversations = present.conversation ?? 0
  if (conversations === 0) return `nothing was ${verb}`
  const which =
    conversations === 1 ? 'the conversation was' : `all ${formatInteger(conversations)} conversations were`
  return `nothing new: ${which} ${where}`
}

/** The number of notes to print. `--json` prints all. */
const mostTold = 10

/** Prints the first notes to stderr. */
export function printSomeNotes(context: CommandContext, notes: readonly string[]): void {
  if (context.quiet || context.json) return
  const { style } = context.err
  const mark = style.note(style.symbols.note)
  for (const note of notes.slice(0, mostTold)) context.err.line(`${mark} ${style.safe(note)}`)
  if (notes.length > mostTold)
    context.err.line(`${mark} and ${formatInteger(notes.length - mostTold)} more: --json has them`)
}

export function printUnreadable(context: CommandContext, unreadable: readonly UnreadableRecord[]): void {
  printSomeNotes(
    context,
    unreadable.map(
      ({ conversationId, what, reason }) => `${conversationId}: ${what} cannot be read: ${reason}`,
    ),
  )
}
