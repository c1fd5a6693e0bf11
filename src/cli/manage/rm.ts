import { parseDuration } from '../../config/duration.ts'
import { branchNames } from '../../core/branch-names.ts'
import { trashGraceMs } from '../../core/conversation.ts'
import { NotFoundError } from '../../core/errors.ts'
import type { ConversationId } from '../../core/ids.ts'
import { collectPages } from '../../core/pages.ts'
import type { ConversationReader, Deleter, Lister, MessageReader } from '../../core/ports.ts'
import type { DeletedMessages } from '../../core/removal.ts'
import type { SeqRange } from '../../core/runs.ts'
import { type Args, type CommandHandler, hasOption, textOption } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { confirm } from '../command-line/confirm.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { formatInteger, plural } from '../output/number.ts'
import { noteLine } from '../output/print.ts'
import { createProgressBar } from '../output/progress-bar.ts'
import { uniqueShortId } from '../output/short-id.ts'
import { formatDay } from '../output/time.ts'
import { skeinCommand } from '../store/skein-command.ts'
import { withStore } from '../store/with-store.ts'
import { type ConversationScope, conversationScope } from '../target/scope.ts'
import { allConversations } from './all-conversations.ts'
import { forgetLines, inputsOf, tellBranches, tellInputs } from './remnants.ts'
import { findRemoval, type Removal, subtreeParts } from './removal.ts'
import { restoreCommand } from './trash.ts'

/** `skein rm`: moves conversations to the trash, and deletes single messages. */
export const rmCommand: CommandHandler = async (args, context) => {
  const bulk = bulkOf(args)
  if (hasOption(args, 'undo')) return undo(args, context)
  return withStore(context, store => removeFrom(store, args, context, bulk))
}

async function removeFrom(
  store: ConversationReader & MessageReader & Lister & Deleter,
  args: Args,
  context: CommandContext,
  bulk: Bulk | null,
): Promise<number> {
  const removal =
    bulk === null
      ? await findRemoval(store, args.arguments, context)
      : await everything(store, bulk, await conversationScope(store, context, bulk), context.now())
  const parts = await partsGone(store, removal, hasOption(args, 'cascade'))
  const gone = parts.reduce((sum, { size }) => sum + size, 0)

  if (hasOption(args, 'dry-run')) return dryRun(store, removal, gone, bulk, context)
  if (removal.conversations.length + removal.messages.length > 0) {
    const question = await questionOf(store, removal, gone, bulk)
    if (gone > 0 && context.canAsk) await tellFinal(store, removal, context)
    if (!(await isConfirmed(question, hasOption(args, 'yes'), context))) {
      if (!context.quiet) context.err.line('nothing was changed')
      return exitCode.ok
    }
  }
  const repeated = new Set<string>()
  for (const { id, ranges } of parts)
    for (const line of await inputsOf(store, id, context, ranges)) repeated.add(line)
  const deleted = await remove(store, removal, hasOption(args, 'cascade'), context)
  const inputs = deleted.deleted > 0 ? forgetLines(repeated, context) : 0
  await receipt(store, removal, { ...deleted, inputs }, bulk, context)
  return exitCode.ok
}

/** Conversations chosen by a rule instead of by their ids. */
interface Bulk {
  /** Of all directories. Otherwise of the project of the working directory. */
  readonly all: boolean
  /** Only conversations that `skein set --project` has given to this project. Null for any. */
  readonly project: string | null
  /** The time without activity, as typed and in milliseconds. Null for any. */
  readonly idle: { readonly text: string; readonly ms: number } | null
}

function bulkOf(args: Args): Bulk | null {
  const text = textOption(args, 'older-than')
  const [rule] = ['older-than', 'all', 'here', 'project'].filter(name => hasOption(args, name))
  if (rule === undefined) {
    if (args.arguments.length === 0)
      throw new UsageError(
        'rm needs an id',
        'All of this project: skein rm --here. Everything: skein rm --all',
      )
    return null
  }
  if (args.arguments.length > 0)
    throw new UsageError(`--${rule} and an id contradict each other`, 'Drop one.')
  for (const other of ['undo', 'cascade']) {
    if (hasOption(args, other))
      throw new UsageError(`--${rule} and --${other} contradict each other`, 'Drop one.')
  }
  if (hasOption(args, 'all') && hasOption(args, 'here'))
    throw new UsageError('--all and --here contradict each other', 'Drop one.')
  const project = textOption(args, 'project') ?? null
  if (project === '') throw new UsageError('--project must not be empty')
  // A named project is not bound to a directory.
  const all = hasOption(args, 'all') || (project !== null && !hasOption(args, 'here'))
  if (text === undefined) return { all, project, idle: null }
  const ms = parseDuration(text)
  if (ms === null) throw new UsageError(`--older-than: "${text}" is not a duration`, 'Such as 30d, 12h or 2w')
  return { all, project, idle: { text, ms } }
}

async function undo(args: Args, context: CommandContext): Promise<number> {
  for (const other of ['cascade', 'dry-run']) {
    if (hasOption(args, other))
      throw new UsageError(`--undo and --${other} contradict each other`, 'Drop one.')
  }
  return restoreCommand(args, context)
}

async function everything(
  store: Lister,
  { idle, project }: Bulk,
  scope: ConversationScope,
  now: number,
): Promise<Removal> {
  const filter = {
    ...scope.filter,
    ...(project !== null && { project }),
    ...(idle && { updatedBefore: new Date(now - idle.ms) }),
  }
  const { items } = await allConversations(store, filter)
  return { conversations: items, messages: [], missing: [] }
}

/** The messages of one conversation to delete. */
interface PartGone {
  readonly id: ConversationId
  readonly ranges: readonly SeqRange[]
  readonly size: number
}

/** The messages to delete. Throws UsageError if they have children, unless the whole subtree is deleted. */
async function partsGone(
  store: ConversationReader & MessageReader,
  { messages }: Removal,
  cascade: boolean,
): Promise<readonly PartGone[]> {
  const byConversation = Map.groupBy(messages, message => message.conversationId)
  const parts: PartGone[] = []
  for (const [id, named] of byConversation) {
    const runs = await collectPages(page => store.listStretches(id, page))
    const ranges = subtreeParts(
      runs,
      named.map(({ seq }) => seq),
    )
    const size = ranges.reduce((sum, { lo, hi }) => sum + hi - lo + 1, 0)
    if (size > named.length && !cascade) {
      const ids = await Promise.all(named.map(message => uniqueShortId(store, message.id)))
      const after = plural(size - named.length, 'message')
      const has = named.length === 1 ? `${ids[0]} has` : 'these have'
      throw new UsageError(
        `${has} ${after} after ${named.length === 1 ? 'it' : 'them'}`,
        `Delete all: skein rm --cascade ${ids.join(' ')}`,
      )
    }
    parts.push({ id, ranges, size })
  }
  return parts
}

async function questionOf(
  store: ConversationReader,
  { conversations }: Removal,
  gone: number,
  bulk: Bulk | null,
): Promise<string> {
  const parts: string[] = []
  if (conversations.length > 0) {
    const messages = conversations.reduce((sum, conversation) => sum + conversation.messages, 0)
    const [only] = conversations
    const what =
      conversations.length === 1
        ? `${plural(messages, 'message')} on ${plural((await branchNames(store, only!.id)).size, 'branch', 'branches')}`
        : `${formatInteger(conversations.length)} conversations with ${plural(messages, 'message')}`
    parts.push(`move ${what}${bulk === null ? '' : whereOf(bulk)} to trash`)
  }
  if (gone > 0) parts.push(`delete ${plural(gone, 'message')} for good`)
  return `${parts.join(', ')}?`
}

function whereOf({ all, project }: Bulk): string {
  if (project !== null) return ` of project ${JSON.stringify(project)}${all ? '' : ' in this directory'}`
  return all ? ', of all directories,' : ' of this project'
}

/** Before the question about messages: only a conversation can come back from the trash. */
async function tellFinal(
  store: ConversationReader,
  { messages }: Removal,
  context: CommandContext,
): Promise<void> {
  const ids = [...new Set(messages.map(message => message.conversationId))].slice(0, 3)
  const short = await Promise.all(ids.map(id => uniqueShortId(store, id)))
  const { err } = context
  err.line(noteLine('deleting messages is final: they do not go to the trash', err))
  err.line(
    `  a conversation does, and can be restored: ${err.style.id(`${skeinCommand(context)} rm ${short.join(' ')}`)}`,
  )
}

async function isConfirmed(question: string, yes: boolean, context: CommandContext): Promise<boolean> {
  if (yes) return true
  if (context.canAsk) return confirm(question, context)
  throw new UsageError(
    'rm asks first, and this is not a terminal',
    'Add --yes; --dry-run lists what would be removed',
  )
}

async function remove(
  store: Deleter,
  removal: Removal,
  cascade: boolean,
  context: CommandContext,
): Promise<DeletedMessages> {
  const progress = createProgressBar(context, 'moving', 'conversations')
  try {
    for (const [i, { id }] of removal.conversations.entries()) {
      context.signal.throwIfAborted()
      progress.show(i, removal.conversations.length)
      await store.trash(id)
    }
  } finally {
    progress.end()
  }
  if (removal.messages.length === 0) return nothingDeleted
  const ids = removal.messages.map(message => message.id)
  try {
    return await store.deleteMessages(ids, {
      reason: 'skein rm',
      ...(cascade && { recursive: true as const }),
    })
  } catch (error) {
    // Another process deleted them first, which is not a failure.
    if (error instanceof NotFoundError) return nothingDeleted
    throw error
  }
}

/** What was deleted, and the lines that were removed from the input history: null if it cannot be written. */
type Deleted = DeletedMessages & { readonly inputs: number | null }

const nothingDeleted: DeletedMessages = {
  deleted: 0,
  moved: [],
  summaries: 0,
  titles: 0,
  branches: [],
  events: 0,
  remains: [],
}

async function dryRun(
  store: ConversationReader,
  removal: Removal,
  gone: number,
  bulk: Bulk | null,
  context: CommandContext,
): Promise<number> {
  const { conversations, missing } = removal
  const { style } = context.out
  if (context.json) {
    context.out.line(JSON.stringify(jsonOf(true, removal, { ...nothingDeleted, deleted: gone, inputs: 0 })))
    return exitCode.ok
  }
  for (const { id, title, messages } of conversations) {
    const short = context.out.isTerminal ? await uniqueShortId(store, id) : id
    const name = style.title(style.safe(title ?? 'untitled').replace(/\s+/g, ' '))
    context.out.line(
      `would move to trash  ${style.id(short)}  ${name} ${style.symbols.dot} ${plural(messages, 'message')}`,
    )
  }
  if (gone > 0) context.out.line(`would delete for good  ${plural(gone, 'message')}`)
  sayMissing(missing, context)
  const isNothing = conversations.length + gone === 0
  if (!context.quiet)
    context.err.line(
      isNothing && missing.length === 0 && bulk !== null
        ? nothingFound(bulk)
        : `nothing was changed${isNothing ? '' : '. Do it: the same without --dry-run'}`,
    )
  return exitCode.ok
}

async function receipt(
  store: ConversationReader,
  removal: Removal,
  deleted: Deleted,
  bulk: Bulk | null,
  context: CommandContext,
): Promise<void> {
  if (context.json) return context.out.line(JSON.stringify(jsonOf(false, removal, deleted)))
  if (context.quiet) return
  const { err } = context
  const { dot } = err.style.symbols
  const { conversations, messages, missing } = removal
  const skein = skeinCommand(context)
  if (conversations.length > 0) {
    const ids = await Promise.all(conversations.slice(0, 10).map(({ id }) => uniqueShortId(store, id)))
    const until = formatDay(new Date(context.now() + trashGraceMs))
    const count = conversations.length === 1 ? '' : `${plural(conversations.length, 'conversation')} `
    const way =
      conversations.length > 10 ? `${skein} trash has the ids` : `${skein} rm --undo ${ids.join(' ')}`
    err.line(`${count}in the trash until ${until} ${dot} undo: ${err.style.id(way)}`)
  }
  if (messages.length > 0) {
    err.line(
      `deleted ${plural(deleted.deleted, 'message')} for good${deleted.summaries > 0 ? ` and ${plural(deleted.summaries, 'summary', 'summaries')}` : ''}`,
    )
    for (const { branch, to } of deleted.moved) {
      const where =
        to === null ? 'is empty now' : `ends with ${err.style.id(await uniqueShortId(store, to))} now`
      err.line(`  ${err.style.branch(err.style.safe(branch.name))} ${where}`)
    }
    tellBranches(deleted.branches, context)
    tellInputs(deleted.inputs, context)
  }
  sayMissing(missing, context)
  if (deleted.remains.some(place => place !== 'backups'))
    err.line(noteLine(`words may remain in the files of the store. Remove them: ${skein} gc --compact`, err))
  if (conversations.length + messages.length + missing.length === 0) err.line(nothingFound(bulk!))
}

function nothingFound({ all, project, idle }: Bulk): string {
  const place = all ? 'in this store' : 'here'
  const where = project === null ? place : `of project ${JSON.stringify(project)} ${place}`
  if (idle === null) return `there are no conversations ${where}`
  const [, count, unit] = /^(\d+)\s*([a-z]+)$/i.exec(idle.text.trim()) ?? []
  const name = { d: 'day', h: 'hour', w: 'week', m: 'minute' }[unit ?? '']
  const time = name === undefined ? idle.text : plural(Number(count), name)
  return `nothing ${where} is older than ${time}`
}

function sayMissing(missing: readonly string[], context: CommandContext): void {
  if (context.quiet || context.json || missing.length === 0) return
  const names = missing.map(text => context.err.style.safe(text)).join(', ')
  context.err.line(`not there, or in the trash already: ${names}`)
}

function jsonOf(
  dry_run: boolean,
  removal: Removal,
  { deleted, moved, summaries, branches, events, inputs }: Deleted,
) {
  return {
    dry_run,
    trashed: removal.conversations.map(({ id }) => id),
    deleted_messages: deleted,
    deleted_summaries: summaries,
    moved: moved.map(({ branch, from, to }) => ({
      conversation: branch.conversationId,
      branch: branch.name,
      from,
      to,
    })),
    missing: removal.missing,
    renamed_branches: branches.map(({ name }) => name),
    erased_events: events,
    input_lines: inputs,
  }
}
