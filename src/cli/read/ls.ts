import type { ConversationFilter, ListedConversation } from '../../core/listing.ts'
import type { ConversationReader, Lister } from '../../core/ports.ts'
import { type Given, hasOption, limitOption, type Run, textOption } from '../command-line/command.ts'
import type { World } from '../command-line/command-context.ts'
import { exit } from '../command-line/exit-code.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { cut, folded } from '../output/cut.ts'
import { gistOf } from '../output/gist.ts'
import { modelName } from '../output/model-name.ts'
import { whole } from '../output/number.ts'
import { field, note, printLines, writeJson } from '../output/print.ts'
import { shortIdIn, shortIds } from '../output/short-id.ts'
import type { Style } from '../output/style.ts'
import { type Column, table } from '../output/table.ts'
import { age } from '../output/time.ts'
import { wrap } from '../output/wrap.ts'
import { withStore } from '../store/with-store.ts'
import { newestHere } from '../target/newest-here.ts'
import { type Scope, scopeOf } from '../target/scope.ts'
import { type ConversationFacts, readFacts } from './conversation-facts.ts'
import { conversationJson } from './conversation-json.ts'

/** `skein ls`: the conversations here, newest last for people and first for programs. */
export const ls: Run = (given, world) => {
  if (hasOption(given, 'trash') && hasOption(given, 'traces')) {
    throw new UsageError('--trash and --traces contradict each other', 'Drop one')
  }
  const limit = limitOption(given, 20, 10_000)
  return withStore(world, async store => {
    const scope = scopeOf(world.place(), world.cwd, hasOption(given, 'all'))
    const filter: ConversationFilter = { ...filterOf(given), ...scope.filter }
    const { items, skipped } = await listed(store, filter, limit)
    const facts = await readFacts(store, items, world.now())
    for (const { id, reason } of skipped) note(world, `! ${id} cannot be read: ${reason}`)
    if (world.json) {
      const list = []
      for (const one of facts) list.push(await conversationJson(store, one))
      writeJson(world, list)
    } else if (world.out.isTerminal) {
      await forPeople(store, world, facts)
      await countLine(store, world, given, scope, filter, { shown: facts.length, limit })
    } else
      await printLines(
        world.out,
        facts.map(one => tabbed(world, one)),
      )
    if (facts.length === 0 && !world.out.isTerminal && !world.json)
      await countLine(store, world, given, scope, filter, { shown: 0, limit })
    return exit.ok
  })
}

function filterOf(given: Given): ConversationFilter {
  const text = (name: string) => {
    const value = textOption(given, name)
    return value === undefined ? {} : { [name]: value }
  }
  return {
    ...text('channel'),
    ...text('project'),
    ...text('task'),
    ...text('tag'),
    ...text('title'),
    ...(hasOption(given, 'trash') ? { trashed: true as const } : {}),
    ...(hasOption(given, 'trash') ? {} : { kind: hasOption(given, 'traces') ? 'subagent' : 'main' }),
  }
}

/** The store gives at most 1,000 at a time. */
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

async function forPeople(
  store: ConversationReader & Lister,
  world: World,
  facts: readonly ConversationFacts[],
): Promise<void> {
  const { style, width } = world.out
  const { place: next } = await newestHere(store, world)
  const among = shortIds(facts.map(({ conversation }) => conversation.id))
  const rows: ListRow[] = []
  for (const { conversation: one, last, pathMessages, branches, isLive } of facts) {
    rows.push({
      // Asking the store costs something, and nobody pastes from a list of thousands.
      id: facts.length <= 100 ? await shortIdIn(store, one.id) : among.get(one.id)!,
      isNext: one.id === next?.conversation.id,
      isLive,
      title: style.safe(titleOf(one)),
      lastWords: last === null ? '' : style.safe(gistOf(last)),
      at: one.trashedAt ?? one.updatedAt,
      messages: pathMessages,
      branches,
      model: one.model === null ? null : style.safe(folded(one.model)),
    })
  }
  for (const line of listLines(rows.reverse(), width, world.now(), style)) world.out.line(line)
}

function titleOf({ title, label }: ListedConversation): string {
  return (title ?? label ?? '(no title)').replace(/\s+/g, ' ')
}

/** What is not seen is counted: nothing is hidden in silence. */
async function countLine(
  store: Lister,
  world: World,
  given: Given,
  scope: Scope,
  filter: ConversationFilter,
  { shown, limit }: { readonly shown: number; readonly limit: number },
): Promise<void> {
  const here = await store.countConversations(filter)
  const { directory: _, ...everywhere } = filter
  const all = scope.isAll ? here : await store.countConversations(everywhere)
  const traces = filter.kind === 'main' ? await store.countConversations({ ...filter, kind: 'subagent' }) : 0
  const kind = hasOption(given, 'trash') ? ' in the trash' : hasOption(given, 'traces') ? ' traces' : ''
  const more = Math.min(here, limit < 20 ? 20 : limit * 5)
  const parts =
    here === 0
      ? [`no conversations${kind} ${scope.words}`]
      : [`${whole(here)}${kind} ${scope.words}${shown < here ? `, ${whole(shown)} shown` : ''}`]
  if (all > here) parts.push(`--all: ${whole(all)}`)
  if (traces > 0) parts.push(`--traces: ${whole(traces)}`)
  if (shown < here) parts.push(`-l ${more} for more`)
  if (here === 0 && all === 0 && kind === '') parts.push('begin one: skein "…"')
  if (world.quiet) return
  const { faint, symbols } = world.err.style
  for (const line of wrap(parts.join(` ${symbols.dot} `), world.err.width)) world.err.line(faint(line))
}

function tabbed(world: World, { conversation: one, pathMessages, branches }: ConversationFacts): string {
  const fields = [
    one.id,
    titleOf(one),
    one.updatedAt.toISOString(),
    String(pathMessages),
    String(branches),
    one.model ?? '',
    one.activeBranch,
  ]
  return fields.map(text => field(world, text)).join('\t')
}

/** A row of `skein ls`. */
export interface ListRow {
  /** As short as it can be. */
  readonly id: string
  /** What a bare `skein` would continue. */
  readonly isNext: boolean
  readonly isLive: boolean
  readonly title: string
  readonly lastWords: string
  readonly at: Date
  readonly messages: number
  readonly branches: number
  readonly model: string | null
}

/** The list for people, as wide as there is room: columns leave from the right as it gets narrow, and below 44 a
 *  conversation takes two lines. */
export function listLines(
  rows: readonly ListRow[],
  width: number,
  now: number,
  style: Style,
): readonly string[] {
  const { dot, dots } = style.symbols
  if (width < 44) return rows.flatMap(row => twoLines(row))
  const shown = fields.filter(({ from }) => width >= from)
  return table(
    rows.map(row => shown.map(({ cell }) => cell(row, now))),
    shown.map(({ column, paint }) => ({ ...column, ...(paint && { paint: style[paint] }) })),
    width,
    { dots, paintHeader: style.faint },
  )

  function twoLines(row: ListRow): readonly string[] {
    const facts = `${age(row.at, now)} ${dot} ${whole(row.messages)}`
    return [`${marks(row)}${style.id(row.id)}  ${facts}`, `  ${style.title(cut(row.title, width - 2, dots))}`]
  }
}

interface Field {
  /** The narrowest terminal it is seen on. */
  readonly from: number
  readonly column: Column
  readonly cell: (row: ListRow, now: number) => string
  readonly paint?: 'id' | 'title' | 'faint'
}

const fields: readonly Field[] = [
  { from: 0, column: {}, cell: marks },
  { from: 0, column: { header: 'ID', gap: '' }, cell: row => row.id, paint: 'id' },
  { from: 0, column: { header: 'TITLE', shrinksTo: 12 }, cell: row => row.title, paint: 'title' },
  {
    from: 100,
    column: { header: 'LAST WORDS', shrinksTo: 12, most: 40 },
    cell: row => row.lastWords,
    paint: 'faint',
  },
  { from: 0, column: { header: 'AGE', align: 'right', least: 6 }, cell: (row, now) => age(row.at, now) },
  { from: 50, column: { header: 'MSGS', align: 'right', least: 5 }, cell: row => whole(row.messages) },
  { from: 56, column: { header: 'BR', align: 'right' }, cell: row => whole(row.branches) },
  {
    from: 64,
    column: { header: 'MODEL', shrinksTo: 12 },
    cell: row => (row.model === null ? '' : modelName(row.model)),
  },
]

function marks({ isNext, isLive }: ListRow): string {
  return `${isNext ? '*' : ' '}${isLive ? '+' : ' '}`
}
