import type { ConversationFilter, ListedConversation } from '../../core/listing.ts'
import type { ConversationReader, Lister } from '../../core/ports.ts'
import { type Given, hasOption, limitOption, type Run, textOption } from '../command-line/command.ts'
import type { World } from '../command-line/command-context.ts'
import { exit } from '../command-line/exit-code.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { folded } from '../output/cut.ts'
import { gistOf } from '../output/gist.ts'
import { whole } from '../output/number.ts'
import { field, note, printLines, writeJson } from '../output/print.ts'
import { shortIdIn, shortIds } from '../output/short-id.ts'
import { wrap } from '../output/wrap.ts'
import { withStore } from '../store/with-store.ts'
import { newestHere } from '../target/newest-here.ts'
import { type Scope, scopeOf } from '../target/scope.ts'
import { type ConversationFacts, readFacts } from './conversation-facts.ts'
import { conversationJson } from './conversation-json.ts'
import { type ListRow, listLines } from './list-lines.ts'

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
