import { collapseSpaces } from '../../core/collapse-spaces.ts'
import type { ConversationId, MessageId } from '../../core/ids.ts'
import type { ListedConversation } from '../../core/listing.ts'
import { collectPages, itemsOf } from '../../core/pages.ts'
import type { Lister, MessageReader } from '../../core/ports.ts'
import { buildForest, subtreeOf, type Tree, walkForest } from '../../core/tree.ts'
import { type CommandHandler, hasOption } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { cut, cutLineMiddle, widthOf } from '../output/cut.ts'
import { plural } from '../output/number.ts'
import { printPaged } from '../output/pager.ts'
import { printJson, printLines, printNote } from '../output/print.ts'
import { shortenId, shortIds } from '../output/short-id.ts'
import { tildify } from '../output/tildify.ts'
import { withStore } from '../store/with-store.ts'
import { needNamed } from '../target/find-named.ts'
import { type ConversationScope, conversationScope } from '../target/scope.ts'
import {
  branchLines,
  compactLines,
  foldStretches,
  type TreeMessage,
  treeLines,
  treeMessage,
} from './tree-lines.ts'

/** `skein tree`, `skein conversation list`: every message of the conversations in the scope, or of one. */
export const treeCommand: CommandHandler = (args, context) => {
  const [id] = args.arguments
  const isCompact = hasOption(args, 'compact')
  if (isCompact && context.json)
    throw new UsageError('--compact and --json contradict each other', 'Drop one')
  if (id !== undefined && (hasOption(args, 'all') || hasOption(args, 'traces'))) {
    throw new UsageError('an id and --all or --traces contradict each other', 'Drop one')
  }
  return withStore(context, async store => {
    const isExact = !context.out.isTerminal || exactNames.has(args.calledAs ?? '')
    const printed = isCompact
      ? printCompact
      : context.json
        ? printTreesJson
        : isExact
          ? printExactTrees
          : printTrees
    if (id !== undefined) {
      const { conversation, message } = await needNamed(id, store, context)
      await printed(context, store, [{ id: conversation.id, root: null }], message)
      return exitCode.ok
    }
    const scope = await conversationScope(store, context, { all: hasOption(args, 'all') })
    const roots = await rootsHere(context, store, scope, hasOption(args, 'traces'))
    await printed(context, store, roots, null)
    if (roots.length === 0) printNote(context, `no conversations ${scope.words}`)
    return exitCode.ok
  })
}

/** The names of the origin documents, which always print the form of S3-60 to S3-64. */
const exactNames: ReadonlySet<string> = new Set(['conversation list', 'conversation ls'])

/** One tree of a conversation; all trees without a root. */
interface Root {
  readonly id: ConversationId
  /** Printed above the tree, for people: which conversation, and of which directory. */
  readonly heading?: string
  readonly root: string | null
}

/** The trees of the scope, the most recently active last. */
async function rootsHere(
  context: CommandContext,
  store: MessageReader & Lister,
  { filter, isAll }: ConversationScope,
  traces: boolean,
): Promise<readonly Root[]> {
  const roots: (Root & { readonly newest: number })[] = []
  for (let after: string | null | undefined; after !== null; ) {
    const page: Awaited<ReturnType<Lister['listConversations']>> = await store.listConversations({
      ...filter,
      ...(traces ? {} : { kind: 'main' as const }),
      limit: 1000,
      ...(after !== undefined && { after }),
    })
    for (const { id, title, directory } of page.items) {
      const heading = headingOf(context, { id, title, directory: isAll ? directory : null })
      for (const [root, newest] of await newestByRoot(store, id)) roots.push({ id, root, newest, heading })
    }
    for (const { id, reason } of page.skipped) printNote(context, `! ${id} cannot be read: ${reason}`)
    after = page.next
  }
  if (!traces && context.out.isTerminal) {
    const hidden = await store.countConversations({ ...filter, kind: 'subagent' })
    if (hidden > 0) printNote(context, `${plural(hidden, 'trace')} of subagents left out: --traces`)
  }
  return roots.sort((a, b) => a.newest - b.newest || (a.root! < b.root! ? -1 : 1))
}

/** The title, the id and, in a list over all directories, the directory. */
function headingOf(
  { out, env }: CommandContext,
  { id, title, directory }: Pick<ListedConversation, 'id' | 'title' | 'directory'>,
): string {
  const { style, width } = out
  const { dot, dots } = style.symbols
  const where =
    directory === null
      ? ''
      : ` ${dot} ${cutLineMiddle(style.safe(tildify(directory, env)), Math.floor(width / 3), dots)}`
  const room = Math.max(12, width - widthOf(` ${dot} ${shortenId(id)}${where}`))
  const shown = cut(style.safe(collapseSpaces(title ?? '(no title)')), room, dots)
  return `${style.title(shown)} ${dot} ${style.id(shortenId(id))}${style.faint(where)}`
}

async function printExactTrees(
  context: CommandContext,
  store: Lister,
  roots: readonly Root[],
  from: MessageId | null,
): Promise<void> {
  const { width, style } = context.out
  for await (const { forest, short } of forests(context, store, roots, from)) {
    await printLines(context.out, treeLines(forest, { width, style, short }))
  }
}

/** For people: in a pager if it is long, which opens at the newest message. */
async function printTrees(
  context: CommandContext,
  store: Lister,
  roots: readonly Root[],
  from: MessageId | null,
): Promise<void> {
  const { width, style } = context.out
  await printPaged(context, lines(), 'end')

  async function* lines(): AsyncGenerator<string> {
    for await (const { forest, short, heading } of forests(context, store, roots, from)) {
      if (heading !== undefined) yield heading
      yield* branchLines(forest, { width, style, short })
    }
  }
}

async function printTreesJson(
  context: CommandContext,
  store: Lister,
  roots: readonly Root[],
  from: MessageId | null,
): Promise<void> {
  const list = []
  for await (const { forest } of forests(context, store, roots, from)) {
    for (const {
      tree: { node: message },
    } of walkForest(forest)) {
      list.push({
        id: message.id,
        parent: message.parentId,
        conversation: message.conversationId,
        seq: message.seq,
        role: message.role,
        created_at: message.createdAt.toISOString(),
        label: message.label,
        text: message.gist,
      })
    }
  }
  printJson(context, list)
}

interface Forest {
  readonly heading?: string | undefined
  readonly forest: readonly Tree<TreeMessage>[]
  /** The prefixes are unique within the conversation, so they have the same length in all its trees. */
  readonly short: ReadonlyMap<string, string>
}

interface Held extends Forest {
  readonly byRoot: ReadonlyMap<string, Tree<TreeMessage>>
  left: number
}

/** Yields the trees in order. A conversation is read once, and kept until its last tree is printed. */
async function* forests(
  context: CommandContext,
  store: Lister,
  roots: readonly Root[],
  from: MessageId | null,
): AsyncGenerator<Forest> {
  const kept = new Map<ConversationId, Held>()
  const rootsOf = Map.groupBy(roots, ({ id }) => id)
  for (const { id, root, heading } of roots) {
    const held = kept.get(id) ?? (await hold(id))
    if (--held.left === 0) kept.delete(id)
    const one = root === null ? undefined : held.byRoot.get(root)
    yield { forest: one ? [one] : held.forest, short: held.short, heading }
  }

  async function hold(id: ConversationId): Promise<Held> {
    const { messages, unreadable } = await readMessages(
      store,
      id,
      context.json ? Number.POSITIVE_INFINITY : context.out.width,
    )
    for (const bad of unreadable) printNote(context, `! ${bad} cannot be read`)
    const shown = from === null ? messages : subtreeOf(messages, from)
    const forest = buildForest(shown)
    const byRoot = new Map(forest.map(one => [one.node.id as string, one]))
    const short = shortIds(shown.map(one => one.id as string))
    const held = { forest, byRoot, short, left: rootsOf.get(id)!.length }
    kept.set(id, held)
    return held
  }
}

async function printCompact(
  context: CommandContext,
  store: MessageReader,
  roots: readonly Root[],
  from: MessageId | null,
): Promise<void> {
  if (from !== null) throw new UsageError('--compact takes a conversation, not a message')
  const { width, style } = context.out
  for (const { id, root } of roots) {
    const runs = await collectPages(page => store.listStretches(id, page))
    const ends = [...new Set(runs.flatMap(({ first, last }) => [first, last]))]
    const messages = new Map<string, TreeMessage>()
    for (let i = 0; i < ends.length; i += 500) {
      const part = await store.getMessages(ends.slice(i, i + 500), { blobs: 'preview' })
      for (const message of part) messages.set(message.id, treeMessage(message, width))
    }
    const forest = buildForest(foldStretches(runs, messages))
    const shown = root === null ? forest : forest.filter(one => one.node.first.id === root)
    const look = { width, style, short: shortIds(ends) }
    await printLines(context.out, compactLines(shown, look))
  }
}

const pageSize = 2000

/** All messages of a conversation in stored order, without their content. */
async function readMessages(
  store: Pick<Lister, 'listMessages'>,
  conversationId: ConversationId,
  longest: number,
): Promise<{ readonly messages: readonly TreeMessage[]; readonly unreadable: readonly string[] }> {
  const messages: TreeMessage[] = []
  const unreadable: string[] = []
  for (let after: string | null | undefined; after !== null; ) {
    const page: Awaited<ReturnType<Lister['listMessages']>> = await store.listMessages({
      conversationId,
      order: 'ascending',
      blobs: 'preview',
      limit: pageSize,
      ...(after !== undefined && { after }),
    })
    for (const message of page.items) messages.push(treeMessage(message, longest))
    unreadable.push(...page.skipped.map(({ id }) => id))
    after = page.next
  }
  return { messages, unreadable }
}

/** The time of the newest message in each tree of a conversation, by root id. Reads no bodies. */
export async function newestByRoot(
  store: Pick<MessageReader, 'listStretches'>,
  conversationId: ConversationId,
): Promise<ReadonlyMap<string, number>> {
  const newest = new Map<string, number>()
  const rootOf = new Map<string, string>()
  // Parents precede their children.
  const stretches = itemsOf(page => store.listStretches(conversationId, page))
  for await (const { first, last, parent, startedAt, endedAt } of stretches) {
    const root = parent === null ? first : (rootOf.get(parent) ?? first)
    rootOf.set(last, root)
    newest.set(root, Math.max(newest.get(root) ?? 0, startedAt.getTime(), endedAt.getTime()))
  }
  return newest
}
