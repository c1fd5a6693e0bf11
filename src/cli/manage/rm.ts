import { parseDuration } from '../../config/duration.ts'
import { trashGraceMs } from '../../core/conversation.ts'
import { NotFoundError } from '../../core/errors.ts'
import { collectPages } from '../../core/pages.ts'
import type { ConversationReader, Deleter, Lister, MessageReader } from '../../core/ports.ts'
import type { DeletedMessages } from '../../core/removal.ts'
import { type Args, type CommandHandler, hasOption, textOption } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { confirm } from '../command-line/confirm.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { formatInteger, plural } from '../output/number.ts'
import { createProgressBar } from '../output/progress-bar.ts'
import { uniqueShortId } from '../output/short-id.ts'
import { formatDay } from '../output/time.ts'
import { withStore } from '../store/with-store.ts'
import { type ConversationScope, conversationScope } from '../target/scope.ts'
import { allConversations } from './all-conversations.ts'
import { findRemoval, type Removal, subtreeSize } from './removal.ts'
import { restoreCommand } from './restore.ts'

/** `skein rm`: moves conversations to the trash, and deletes single messages. */
export const rmCommand: CommandHandler = async (args, context) => {
  const olderThan = olderThanOf(args)
  if (hasOption(args, 'undo')) return undo(args, context)
  return withStore(context, store => removeFrom(store, args, context, olderThan))
}

async function removeFrom(
  store: ConversationReader & MessageReader & Lister & Deleter,
  args: Args,
  context: CommandContext,
  olderThan: number | null,
): Promise<number> {
  const removal =
    olderThan === null
      ? await findRemoval(store, args.arguments)
      : await idle(
          store,
          olderThan,
          await conversationScope(store, context, { all: hasOption(args, 'all') }),
          context.now(),
        )
  const gone = await messagesGone(store, removal, hasOption(args, 'cascade'))

  if (hasOption(args, 'dry-run')) return dryRun(store, removal, gone, context)
  if (removal.conversations.length + removal.messages.length > 0) {
    const question = await questionOf(store, removal, gone)
    if (!(await isConfirmed(question, hasOption(args, 'yes'), context))) {
      if (!context.quiet) context.err.line('nothing was changed')
      return exitCode.ok
    }
  }
  const deleted = await remove(store, removal, hasOption(args, 'cascade'), context)
  await receipt(store, removal, deleted, context)
  return exitCode.ok
}

function olderThanOf(args: Args): number | null {
  const text = textOption(args, 'older-than')
  const named = args.arguments.length > 0
  if (text === undefined) {
    if (!named) throw new UsageError('rm needs an id, or --older-than', 'skein rm --help')
    if (hasOption(args, 'all')) throw new UsageError('--all is for --older-than', 'skein rm --help')
    return null
  }
  if (named) throw new UsageError('--older-than and an id contradict each other', 'Drop one.')
  for (const other of ['undo', 'cascade']) {
    if (hasOption(args, other))
      throw new UsageError(`--older-than and --${other} contradict each other`, 'Drop one.')
  }
  const ms = parseDuration(text)
  if (ms === null) throw new UsageError(`--older-than: "${text}" is not a duration`, 'Such as 30d, 12h or 2w')
  return ms
}

async function undo(args: Args, context: CommandContext): Promise<number> {
  for (const other of ['cascade', 'dry-run']) {
    if (hasOption(args, other))
      throw new UsageError(`--undo and --${other} contradict each other`, 'Drop one.')
  }
  return restoreCommand(args, context)
}

async function idle(store: Lister, ms: number, scope: ConversationScope, now: number): Promise<Removal> {
  const filter = { ...scope.filter, updatedBefore: new Date(now - ms) }
  const { items } = await allConversations(store, filter)
  return { conversations: items, messages: [], missing: [] }
}

/** The number of messages to delete. Throws UsageError if they have children, unless the whole subtree is
 *  deleted. */
async function messagesGone(
  store: ConversationReader & MessageReader,
  { messages }: Removal,
  cascade: boolean,
): Promise<number> {
  const byConversation = Map.groupBy(messages, message => message.conversationId)
  let gone = 0
  for (const [id, named] of byConversation) {
    const runs = await collectPages(page => store.listStretches(id, page))
    const size = subtreeSize(
      runs,
      named.map(({ seq }) => seq),
    )
    if (size > named.length && !cascade) {
      const ids = await Promise.all(named.map(message => uniqueShortId(store, message.id)))
      const after = plural(size - named.length, 'message')
      const has = named.length === 1 ? `${ids[0]} has` : 'these have'
      throw new UsageError(
        `${has} ${after} after ${named.length === 1 ? 'it' : 'them'}`,
        `Delete all: skein rm --cascade ${ids.join(' ')}`,
      )
    }
    gone += size
  }
  return gone
}

async function questionOf(
  store: ConversationReader,
  { conversations }: Removal,
  gone: number,
): Promise<string> {
  const parts: string[] = []
  if (conversations.length > 0) {
    const messages = conversations.reduce((sum, conversation) => sum + conversation.messages, 0)
    const [only] = conversations
    const what =
      conversations.length === 1
        ? `${plural(messages, 'message')} on ${plural((await collectPages(page => store.listBranches(only!.id, page))).length, 'branch', 'branches')}`
        : `${formatInteger(conversations.length)} conversations with ${plural(messages, 'message')}`
    parts.push(`move ${what} to trash`)
  }
  if (gone > 0) parts.push(`delete ${plural(gone, 'message')} for good`)
  return `${parts.join(', ')}?`
}

async function isConfirmed(question: string, yes: boolean, context: CommandContext): Promise<boolean> {
  if (yes) return true
  if (context.canAsk) return confirm(question, context)
  throw new UsageError(
    `rm asks first, and nobody is here to answer`,
    'Add --yes; --dry-run shows what would go',
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

const nothingDeleted: DeletedMessages = { deleted: 0, moved: [], summaries: 0, titles: 0, remains: [] }

async function dryRun(
  store: ConversationReader,
  removal: Removal,
  gone: number,
  context: CommandContext,
): Promise<number> {
  const { conversations, missing } = removal
  const { style } = context.out
  if (context.json) {
    context.out.line(JSON.stringify(jsonOf(true, removal, { ...nothingDeleted, deleted: gone })))
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
  if (!context.quiet)
    context.err.line(
      `nothing was changed${conversations.length + gone > 0 ? '. Do it: the same without --dry-run' : ''}`,
    )
  return exitCode.ok
}

async function receipt(
  store: ConversationReader,
  removal: Removal,
  deleted: DeletedMessages,
  context: CommandContext,
): Promise<void> {
  if (context.json) return context.out.line(JSON.stringify(jsonOf(false, removal, deleted)))
  if (context.quiet) return
  const { err } = context
  const { dot } = err.style.symbols
  const { conversations, messages, missing } = removal
  if (conversations.length > 0) {
    const ids = await Promise.all(conversations.slice(0, 10).map(({ id }) => uniqueShortId(store, id)))
    const until = formatDay(new Date(context.now() + trashGraceMs))
    const count = conversations.length === 1 ? '' : `${plural(conversations.length, 'conversation')} `
    const way = conversations.length > 10 ? 'skein trash has the ids' : `skein rm --undo ${ids.join(' ')}`
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
  }
  sayMissing(missing, context)
  if (conversations.length + messages.length + missing.length === 0) err.line('nothing is that old')
}

function sayMissing(missing: readonly string[], context: CommandContext): void {
  if (context.quiet || context.json || missing.length === 0) return
  const names = missing.map(text => context.err.style.safe(text)).join(', ')
  context.err.line(`not there, or in the trash already: ${names}`)
}

function jsonOf(dry_run: boolean, removal: Removal, { deleted, moved, summaries }: DeletedMessages) {
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
  }
}
