import { parseDuration } from '../../config/duration.ts'
import { trashGraceMs } from '../../core/conversation.ts'
import { NotFoundError } from '../../core/errors.ts'
import type { ConversationReader, DeletedMessages, Deleter, Lister, MessageReader } from '../../core/ports.ts'
import { type Given, hasOption, type Run, textOption } from '../command-line/command.ts'
import type { World } from '../command-line/command-context.ts'
import { confirm } from '../command-line/confirm.ts'
import { exit } from '../command-line/exit-code.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { plural, whole } from '../output/number.ts'
import { progressLine } from '../output/progress-line.ts'
import { shortIdIn } from '../output/short-id.ts'
import { dayAndMonth } from '../output/time.ts'
import { withStore } from '../store/with-store.ts'
import { type Scope, scopeOf } from '../target/scope.ts'
import { allConversations } from './all-conversations.ts'
import { type Removal, removalOf, subtreeSize } from './removal.ts'
import { restore } from './restore.ts'

/** Moves conversations to the trash, and deletes single messages. */
export const rm: Run = async (given, world) => {
  const olderThan = olderThanOf(given)
  if (hasOption(given, 'undo')) return undo(given, world)
  return withStore(world, store => removeFrom(store, given, world, olderThan))
}

async function removeFrom(
  store: ConversationReader & MessageReader & Lister & Deleter,
  given: Given,
  world: World,
  olderThan: number | null,
): Promise<number> {
  const removal =
    olderThan === null
      ? await removalOf(store, given.arguments)
      : await idle(store, olderThan, scopeOf(world.place(), world.cwd, hasOption(given, 'all')), world.now())
  const gone = await messagesGone(store, removal, hasOption(given, 'cascade'))

  if (hasOption(given, 'dry-run')) return dryRun(store, removal, gone, world)
  if (removal.conversations.length + removal.messages.length > 0) {
    const question = await questionOf(store, removal, gone)
    if (!(await mayGoOn(question, hasOption(given, 'yes'), world))) {
      if (!world.quiet) world.err.line('nothing was changed')
      return exit.ok
    }
  }
  const deleted = await remove(store, removal, hasOption(given, 'cascade'), world)
  await receipt(store, removal, deleted, world)
  return exit.ok
}

function olderThanOf(given: Given): number | null {
  const text = textOption(given, 'older-than')
  const named = given.arguments.length > 0
  if (text === undefined) {
    if (!named) throw new UsageError('rm needs an id, or --older-than', 'skein rm --help')
    if (hasOption(given, 'all')) throw new UsageError('--all is for --older-than', 'skein rm --help')
    return null
  }
  if (named) throw new UsageError('--older-than and an id contradict each other', 'Drop one.')
  for (const other of ['undo', 'cascade']) {
    if (hasOption(given, other))
      throw new UsageError(`--older-than and --${other} contradict each other`, 'Drop one.')
  }
  const ms = parseDuration(text)
  if (ms === null)
    throw new UsageError(`--older-than: "${text}" is no length of time`, 'Such as 30d, 12h or 2w')
  return ms
}

async function undo(given: Given, world: World): Promise<number> {
  for (const other of ['cascade', 'dry-run']) {
    if (hasOption(given, other))
      throw new UsageError(`--undo and --${other} contradict each other`, 'Drop one.')
  }
  return restore(given, world)
}

async function idle(store: Lister, ms: number, scope: Scope, now: number): Promise<Removal> {
  const filter = { ...scope.filter, updatedBefore: new Date(now - ms) }
  const { items } = await allConversations(store, filter)
  return { conversations: items, messages: [], missing: [] }
}

/** How many single messages will be gone. Throws UsageError if others hang on them, unless those go too. */
async function messagesGone(
  store: ConversationReader & MessageReader,
  { messages }: Removal,
  cascade: boolean,
): Promise<number> {
  const byConversation = Map.groupBy(messages, message => message.conversationId)
  let gone = 0
  for (const [id, named] of byConversation) {
    const runs = await store.structure(id)
    const size = subtreeSize(
      runs,
      named.map(({ seq }) => seq),
    )
    if (size > named.length && !cascade) {
      const ids = await Promise.all(named.map(message => shortIdIn(store, message.id)))
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
        ? `${plural(messages, 'message')} on ${plural((await store.listBranches(only!.id)).length, 'branch', 'branches')}`
        : `${whole(conversations.length)} conversations with ${plural(messages, 'message')}`
    parts.push(`move ${what} to trash`)
  }
  if (gone > 0) parts.push(`delete ${plural(gone, 'message')} for good`)
  return `${parts.join(', ')}?`
}

async function mayGoOn(question: string, yes: boolean, world: World): Promise<boolean> {
  if (yes) return true
  if (world.canAsk) return confirm(question, world)
  throw new UsageError(
    `rm asks first, and nobody is here to answer`,
    'Add --yes; --dry-run shows what would go',
  )
}

async function remove(
  store: Deleter,
  removal: Removal,
  cascade: boolean,
  world: World,
): Promise<DeletedMessages> {
  const progress = progressLine(world, 'moving', 'conversations')
  try {
    for (const [i, { id }] of removal.conversations.entries()) {
      world.signal.throwIfAborted()
      progress.show(i, removal.conversations.length)
      await store.trash(id)
    }
  } finally {
    progress.end()
  }
  if (removal.messages.length === 0) return { deleted: 0, moved: [], summaries: 0 }
  const ids = removal.messages.map(message => message.id)
  try {
    return await store.deleteMessages(ids, {
      reason: 'skein rm',
      ...(cascade && { recursive: true as const }),
    })
  } catch (error) {
    // Somebody else was faster: what is not there is no failure.
    if (error instanceof NotFoundError) return { deleted: 0, moved: [], summaries: 0 }
    throw error
  }
}

async function dryRun(
  store: ConversationReader,
  removal: Removal,
  gone: number,
  world: World,
): Promise<number> {
  const { conversations, missing } = removal
  const { style } = world.out
  if (world.json) {
    world.out.line(JSON.stringify(jsonOf(true, removal, { deleted: gone, moved: [], summaries: 0 })))
    return exit.ok
  }
  for (const { id, title, messages } of conversations) {
    const short = world.out.isTerminal ? await shortIdIn(store, id) : id
    const name = style.title(style.safe(title ?? 'untitled').replace(/\s+/g, ' '))
    world.out.line(
      `would move to trash  ${style.id(short)}  ${name} ${style.symbols.dot} ${plural(messages, 'message')}`,
    )
  }
  if (gone > 0) world.out.line(`would delete for good  ${plural(gone, 'message')}`)
  sayMissing(missing, world)
  if (!world.quiet)
    world.err.line(
      `nothing was changed${conversations.length + gone > 0 ? '. Do it: the same without --dry-run' : ''}`,
    )
  return exit.ok
}

async function receipt(
  store: ConversationReader,
  removal: Removal,
  deleted: DeletedMessages,
  world: World,
): Promise<void> {
  if (world.json) return world.out.line(JSON.stringify(jsonOf(false, removal, deleted)))
  if (world.quiet) return
  const { err } = world
  const { dot } = err.style.symbols
  const { conversations, messages, missing } = removal
  if (conversations.length > 0) {
    const ids = await Promise.all(conversations.slice(0, 10).map(({ id }) => shortIdIn(store, id)))
    const until = dayAndMonth(new Date(world.now() + trashGraceMs))
    const count = conversations.length === 1 ? '' : `${plural(conversations.length, 'conversation')} `
    const way = conversations.length > 10 ? 'skein trash has the ids' : `skein rm --undo ${ids.join(' ')}`
    err.line(`${count}in the trash until ${until} ${dot} undo: ${err.style.id(way)}`)
  }
  if (messages.length > 0) {
    err.line(
      `deleted ${plural(deleted.deleted, 'message')} for good${deleted.summaries > 0 ? ` and ${plural(deleted.summaries, 'summary', 'summaries')}` : ''}`,
    )
    for (const { branch, to } of deleted.moved) {
      const where = to === null ? 'is empty now' : `ends with ${err.style.id(await shortIdIn(store, to))} now`
      err.line(`  ${err.style.branch(err.style.safe(branch.name))} ${where}`)
    }
  }
  sayMissing(missing, world)
  if (conversations.length + messages.length + missing.length === 0) err.line('nothing is that old')
}

function sayMissing(missing: readonly string[], world: World): void {
  if (world.quiet || world.json || missing.length === 0) return
  const names = missing.map(text => world.err.style.safe(text)).join(', ')
  world.err.line(`not there, or in the trash already: ${names}`)
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
