import { conversationJson } from '../../api/conversation.ts'
import { collapseSpaces } from '../../core/collapse-spaces.ts'
import { CorruptError } from '../../core/errors.ts'
import { gistOf } from '../../core/gist.ts'
import type { ConversationId } from '../../core/ids.ts'
import type { ConversationFilter, ListedConversation } from '../../core/listing.ts'
import { modelName } from '../../core/model-name.ts'
import type { ConversationOverview, OverviewReader } from '../../core/overview.ts'
import type { ConversationReader, Lister } from '../../core/ports.ts'
import { isTurnLive } from '../../system/live-turn.ts'
import {
  type Args,
  type CommandHandler,
  hasOption,
  limitOption,
  textOption,
  textOptions,
} from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { cut, cutLineMiddle } from '../output/cut.ts'
import { formatInteger } from '../output/number.ts'
import { printJson, printLines, printNote, tsvField } from '../output/print.ts'
import { shortenId, shortIds } from '../output/short-id.ts'
import type { Style } from '../output/style.ts'
import { type TableColumn, tableLines } from '../output/table.ts'
import { tildify } from '../output/tildify.ts'
import { formatAge } from '../output/time.ts'
import { wrap } from '../output/wrap.ts'
import { skeinCommand } from '../store/skein-command.ts'
import { withStore } from '../store/with-store.ts'
import { newestHere } from '../target/newest-here.ts'
import { type ConversationScope, conversationScope } from '../target/scope.ts'
import { filterOptions } from './filter-options.ts'

/** `skein ls`: lists the conversations of the scope, newest last for people and newest first for programs. */
export const lsCommand: CommandHandler = (args, context) => {
  if (hasOption(args, 'trash') && hasOption(args, 'traces')) {
    throw new UsageError('--trash and --traces contradict each other', 'Drop one')
  }
  const limit = limitOption(args, 20, 10_000)
  return withStore(context, async store => {
    const [all, trashed] = [hasOption(args, 'all'), hasOption(args, 'trash')]
    const scope = await conversationScope(store, context, { all, trashed })
    const filter: ConversationFilter = { ...listFilter(args), ...scope.filter }
    const { items, skipped } = await listed(store, filter, limit)
    const facts = await overviewsOf(store, items)
    for (const { id, reason } of skipped) printNote(context, `! ${id} cannot be read: ${reason}`)
    if (context.json) {
      printJson(
        context,
        facts.map(one => conversationJson(one, turn => isTurnLive(turn, context.now()))),
      )
    } else if (context.out.isTerminal) {
      await printTable(store, context, facts, { showsDirectory: all })
      await countLine(store, context, args, scope, filter, { shown: facts.length, limit })
    } else
      await printLines(
        context.out,
        facts.map(one => tabbed(context, one)),
      )
    if (facts.length === 0 && !context.out.isTerminal && !context.json)
      await countLine(store, context, args, scope, filter, { shown: 0, limit })
    return exitCode.ok
  })
}

/** The filter of `skein ls`, without its scope. */
function listFilter(args: Args): ConversationFilter {
  const text = (name: string) => {
    const value = textOption(args, name)
    return value === undefined ? {} : { [name]: value }
  }
  return {
    ...filterOptions(args),
    ...text('task'),
    ...text('title'),
    ...labelFilter(args),
    ...(hasOption(args, 'trash') ? { trashed: true as const } : {}),
    ...(hasOption(args, 'trash') ? {} : { kind: hasOption(args, 'traces') ? 'subagent' : 'main' }),
  }
}

/** `explorer/7c1e` names a run of a subagent by the beginning of its id, `explorer` all its runs. Their
 *  labels are `subagent:explorer:<run id>`. */
function labelFilter(args: Args): ConversationFilter {
  const label = textOption(args, 'label')
  if (label === undefined) return {}
  if (!hasOption(args, 'traces') || label.startsWith('subagent:')) return { labelPrefix: label }
  const [name, run = ''] = label.split('/', 2)
  return { labelPrefix: `subagent:${name}:${run}` }
}

const phrases: readonly (readonly [option: string, words: (value: string) => string])[] = [
  ['title', value => `with ${JSON.stringify(value)} in the title`],
  ['key', value => `with a key that begins with ${value}`],
  ['tag', value => `with tag ${value}`],
  ['label', value => `with label ${value}`],
  ['channel', value => `of channel ${value}`],
  ['project', value => `of project ${value}`],
  ['task', value => `of task ${value}`],
]

/** The filters in words, as in `no conversations with tag x here`; '' without filters. */
function filterWords(args: Args): string {
  const words = phrases.flatMap(([option, say]) => {
    const value = textOption(args, option)
    return value === undefined ? [] : [say(value)]
  })
  for (const value of textOptions(args, 'metadata')) words.push(`with metadata ${value}`)
  return words.join(', ')
}

/** The store returns at most 1,000 per page. */
async function listed(store: Lister, filter: ConversationFilter, limit: number) {
  const items: ListedConversation[] = []
  const skipped: { readonly id: string; readonly reason: string }[] = []
  for (let after: string | null | undefined; after !== null && items.length < limit; ) {
    const page: Awaited<ReturnType<Lister['listConversations']>> = await store.listConversations({
      ...filter,
      limit: Math.min(1000, limit - items.length),
      ...(after !== undefined && { after }),
    })
    items.push(...page.items)
    skipped.push(...page.skipped)
    after = page.next
  }
  return { items, skipped }
}

/** The store reads at most 1,000 at once. */
async function overviewsOf(
  store: OverviewReader,
  conversations: readonly ListedConversation[],
): Promise<readonly ConversationOverview[]> {
  const overviews: ConversationOverview[] = []
  for (let i = 0; i < conversations.length; i += 1000)
    overviews.push(...(await store.readOverviews(conversations.slice(i, i + 1000))))
  return overviews
}

/** The shortest beginnings of ids that can be pasted. In a damaged file they are unique only in the list. */
async function shortestIds(
  store: OverviewReader,
  ids: readonly ConversationId[],
): Promise<ReadonlyMap<ConversationId, string>> {
  const short = new Map<ConversationId, string>()
  try {
    // The store takes at most 1,000 at once.
    for (let i = 0; i < ids.length; i += 1000) {
      const lengths = await store.uniqueLengths(ids.slice(i, i + 1000))
      for (const [id, length] of lengths) short.set(id, shortenId(id, length))
    }
    return short
  } catch (error) {
    if (error instanceof CorruptError) return shortIds(ids)
    throw error
  }
}

async function printTable(
  store: ConversationReader & Lister & OverviewReader,
  context: CommandContext,
  facts: readonly ConversationOverview[],
  { showsDirectory }: { readonly showsDirectory: boolean },
): Promise<void> {
  const { style, width } = context.out
  const { newest } = await newestHere(store, context)
  const ids = facts.map(({ conversation }) => conversation.id)
  const short = await shortestIds(store, ids)
  const rows: ListRow[] = []
  for (const { conversation: one, last, pathMessages, branches, openTurns } of facts) {
    rows.push({
      // One that was purged since the list was read has no short id.
      id: short.get(one.id) ?? one.id,
      isNext: one.id === newest?.conversation.id,
      isLive: openTurns.some(turn => isTurnLive(turn, context.now())),
      title: style.safe(titleOf(one)),
      directory: showsDirectory ? style.safe(tildify(one.directory ?? '', context.env)) : null,
      lastWords: last === null ? '' : style.safe(gistOf(last)),
      at: one.trashedAt ?? one.updatedAt,
      messages: pathMessages,
      branches,
      model: one.model === null ? null : style.safe(collapseSpaces(one.model)),
    })
  }
  for (const line of listLines(rows.reverse(), width, context.now(), style)) context.out.line(line)
}

function titleOf({ title, label }: ListedConversation): string {
  return (title ?? label ?? '(no title)').replace(/\s+/g, ' ')
}

/** Prints how many conversations are not listed, and how to list them. */
async function countLine(
  store: Lister,
  context: CommandContext,
  args: Args,
  scope: ConversationScope,
  filter: ConversationFilter,
  { shown, limit }: { readonly shown: number; readonly limit: number },
): Promise<void> {
  const here = await store.countConversations(filter)
  const { directory: _, ...everywhere } = filter
  const all = scope.isAll ? here : await store.countConversations(everywhere)
  const traces = filter.kind === 'main' ? await store.countConversations({ ...filter, kind: 'subagent' }) : 0
  const kind = hasOption(args, 'trash') ? ' in the trash' : hasOption(args, 'traces') ? ' traces' : ''
  const more = Math.min(here, limit < 20 ? 20 : limit * 5)
  const matching = filterWords(args)
  const parts =
    here === 0
      ? [
          `no ${kind === ' traces' ? 'traces' : `conversations${kind}`}${matching && ` ${matching}`} ${scope.words}`,
        ]
      : [
          `${formatInteger(here)}${kind} ${scope.words}${shown < here ? `, ${formatInteger(shown)} shown` : ''}`,
        ]
  if (all > here) parts.push(`--all: ${formatInteger(all)}`)
  if (traces > 0) parts.push(`--traces: ${formatInteger(traces)}`)
  if (shown < here) parts.push(`-l ${more} for more`)
  if (here === 0 && matching !== '') parts.push(...(await otherWays(store, args, scope)))
  else if (here === 0 && all === 0 && kind === '') parts.push(`begin one: ${skeinCommand(context)} "…"`)
  if (context.quiet) return
  const { faint, symbols } = context.err.style
  for (const line of wrap(parts.join(` ${symbols.bar} `), context.err.width)) context.err.line(faint(line))
}

/** What a list without its filter would find, and labels that are called like the tag. */
async function otherWays(
  store: Lister,
  args: Args,
  { filter: scope }: ConversationScope,
): Promise<readonly string[]> {
  const { trashed, kind } = listFilter(args)
  const among = { ...scope, ...(trashed && { trashed }), ...(kind && { kind }) }
  const unfiltered = await store.countConversations(among)
  const ways = [`without the filter: ${formatInteger(unfiltered)}`]
  const tag = textOption(args, 'tag')
  const labelled = tag === undefined ? 0 : await store.countConversations({ ...among, labelPrefix: tag })
  if (labelled > 0) ways.push(`--label ${tag}: ${formatInteger(labelled)}`)
  return ways
}

function tabbed(
  context: CommandContext,
  { conversation: one, pathMessages, branches }: ConversationOverview,
): string {
  const fields = [
    one.id,
    titleOf(one),
    one.updatedAt.toISOString(),
    String(pathMessages),
    String(branches),
    one.model ?? '',
    one.activeBranch,
    one.directory ?? '',
  ]
  return fields.map(text => tsvField(context, text)).join('\t')
}

/** A row of `skein ls`. */
export interface ListRow {
  /** The shortest unique prefix. */
  readonly id: string
  /** `skein` without arguments would continue this conversation. */
  readonly isNext: boolean
  readonly isLive: boolean
  readonly title: string
  /** Null if all conversations are of one project. */
  readonly directory: string | null
  readonly lastWords: string
  readonly at: Date
  readonly messages: number
  readonly branches: number
  readonly model: string | null
}

/** The list for people. A narrow terminal drops columns from the right. Below 44 columns, or 48 with
 *  directories, a conversation takes two or three lines. */
export function listLines(
  rows: readonly ListRow[],
  width: number,
  now: number,
  style: Style,
): readonly string[] {
  const { dot, dots } = style.symbols
  const isOverAll = rows.some(row => row.directory !== null)
  if (width < (isOverAll ? 48 : 44)) return rows.flatMap(row => separateLines(row))
  const shown = fields.filter(({ from, fromOverAll = from }) => width >= (isOverAll ? fromOverAll : from))
  return tableLines(
    rows.map(row => shown.map(({ cell }) => cell(row, now))),
    shown.map(({ column, paint }) => ({ ...column, ...(paint && { paint: style[paint] }) })),
    width,
    { dots, paintHeader: style.faint },
  )

  function separateLines(row: ListRow): readonly string[] {
    const facts = `${formatAge(row.at, now)} ${dot} ${formatInteger(row.messages)}`
    const where = row.directory ? [`  ${style.faint(cutLineMiddle(row.directory, width - 2, dots))}`] : []
    return [
      `${marks(row)}${style.id(row.id)}  ${facts}`,
      `  ${style.title(cut(row.title, width - 2, dots))}`,
      ...where,
    ]
  }
}

interface Field {
  /** The narrowest terminal that shows the column. */
  readonly from: number
  readonly column: TableColumn
  readonly cell: (row: ListRow, now: number) => string
  readonly paint?: 'id' | 'title' | 'faint'
  /** The same in a list over all directories. Default: `from`. */
  readonly fromOverAll?: number
}

const fields: readonly Field[] = [
  { from: 0, column: {}, cell: marks },
  { from: 0, column: { header: 'ID', gap: '' }, cell: row => row.id, paint: 'id' },
  { from: 0, column: { header: 'TITLE', shrinksTo: 12 }, cell: row => row.title, paint: 'title' },
  {
    from: Number.POSITIVE_INFINITY,
    fromOverAll: 0,
    column: { header: 'DIRECTORY', shrinksTo: 16, most: 40, cutsMiddle: true },
    cell: row => row.directory ?? '',
    paint: 'faint',
  },
  {
    from: 100,
    fromOverAll: 140,
    column: { header: 'LAST WORDS', shrinksTo: 12, most: 40 },
    cell: row => row.lastWords,
    paint: 'faint',
  },
  {
    from: 0,
    column: { header: 'AGE', align: 'right', least: 6 },
    cell: (row, now) => formatAge(row.at, now),
  },
  {
    from: 50,
    fromOverAll: 56,
    column: { header: 'MSGS', align: 'right', least: 5 },
    cell: row => formatInteger(row.messages),
  },
  {
    from: 56,
    fromOverAll: 64,
    column: { header: 'BR', align: 'right' },
    cell: row => formatInteger(row.branches),
  },
  {
    from: 64,
    fromOverAll: 100,
    column: { header: 'MODEL', shrinksTo: 12 },
    cell: row => (row.model === null ? '' : modelName(row.model)),
  },
]

function marks({ isNext, isLive }: ListRow): string {
  return `${isNext ? '*' : ' '}${isLive ? '+' : ' '}`
}
