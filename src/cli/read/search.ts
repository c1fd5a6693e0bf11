import { hitKind, searchHitJson } from '../../api/search-hit.ts'
import { collectHits } from '../../core/collect-hits.ts'
import { UnavailableError } from '../../core/errors.ts'
import type { Searcher, SearchHit, SearchOptions } from '../../core/listing.ts'
import type { Maintainer } from '../../core/maintainer.ts'
import type { ConversationReader } from '../../core/ports.ts'
import { type CommandHandler, hasOption, limitOption, textOption } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { formatInteger, plural } from '../output/number.ts'
import { noteLine, printJson, printLines, printNote, tsvField } from '../output/print.ts'
import { createProgressBar } from '../output/progress-bar.ts'
import { uniqueShortId } from '../output/short-id.ts'
import { tildify } from '../output/tildify.ts'
import { wrap } from '../output/wrap.ts'
import { skeinCommand } from '../store/skein-command.ts'
import { withStore } from '../store/with-store.ts'
import { conversationScope } from '../target/scope.ts'
import { filterOptions } from './filter-options.ts'
import { type HitStore, readHitGroups } from './hit-groups.ts'
import { searchLines } from './search-lines.ts'

/** The most that the store returns at once, and the most that are counted outside the scope. */
const mostHits = 200

/** `skein search`: finds messages of people, models and tools. */
export const searchCommand: CommandHandler = (args, context) => {
  const query = args.arguments.join(' ')
  const limit = limitOption(args, 20, mostHits)
  if (query.trim() === '') throw new UsageError('search needs a word to look for', 'skein search --help')
  return withStore(context, async store => {
    const scope = await conversationScope(store, context, { all: hasOption(args, 'all') })
    const labelPrefix = textOption(args, 'label')
    const wide: SearchOptions = {
      ...filterOptions(args),
      ...(labelPrefix !== undefined && { labelPrefix }),
      ...(hasOption(args, 'ranked') && { order: 'ranked' }),
    }
    const { directory } = scope.filter
    const narrow: SearchOptions = directory ? { ...wide, directory } : wide
    const { signal } = context
    const shown = { ...narrow, limit, snippetLength: snippetLength(context), signal }
    const look = () => collectHits(store, query, shown)
    let found = await look()
    let reason: string | null = null
    if (found.unindexed > 0) {
      reason = await completeIndex(store, context)
      found = await look()
    }
    const { items, next, unindexed } = found
    if (context.json) printJson(context, items.map(searchHitJson))
    else if (context.out.isTerminal) await printHits(store, context, items, hasOption(args, 'all'))
    else
      await printLines(
        context.out,
        items.map(hit => tabbed(context, hit)),
      )
    if (unindexed > 0 && !context.quiet)
      context.err.line(noteLine(staleIndex(unindexed, reason ?? 'the store cannot be written'), context.err))
    if (items.length > 0 && !context.out.isTerminal) return exitCode.ok
    const elsewhere = scope.isAll ? null : await countHits(store, query, { ...wide, signal })
    if (items.length === 0) printNote(context, nothingFound(scope.isAll, elsewhere))
    else
      await countLine(store, context, items, {
        more: next !== null,
        elsewhere,
        isAll: hasOption(args, 'all'),
      })
    return exitCode.ok
  })
}

/** Waits until the index is complete, or as complete as it can be: the store may be read-only. Returns the
 *  reason if another process keeps it from being written. */
async function completeIndex(
  store: Pick<Maintainer, 'indexSearch'>,
  context: CommandContext,
): Promise<string | null> {
  const progress = createProgressBar(context, 'indexing', 'messages')
  try {
    await store.indexSearch({
      signal: context.signal,
      onProgress: ({ messages, total }) => progress.show(messages, total),
    })
    return null
  } catch (error) {
    if (error instanceof UnavailableError) return error.message
    throw error
  } finally {
    progress.end()
  }
}

function staleIndex(count: number, reason: string): string {
  return `${plural(count, 'message is', 'messages are')} not in the search index: ${reason}`
}

function snippetLength({ out }: CommandContext): number {
  return out.isTerminal ? Math.max(40, Math.min(200, out.width - 30)) : 160
}

interface Counted {
  readonly hits: number
  readonly isMore: boolean
}

async function countHits(store: Searcher, query: string, options: SearchOptions): Promise<Counted> {
  const { items, next } = await collectHits(store, query, { ...options, limit: mostHits, snippetLength: 20 })
  return { hits: items.length, isMore: next !== null }
}

function countWords({ hits, isMore }: Counted): string {
  return `${formatInteger(hits)}${isMore ? ' and more' : ''}`
}

function nothingFound(isAll: boolean, elsewhere: Counted | null): string {
  if (isAll) return 'nothing found'
  return `nothing found here${elsewhere && elsewhere.hits > 0 ? `. --all finds ${countWords(elsewhere)}` : ''}`
}

async function printHits(
  store: HitStore,
  { out, env, now }: CommandContext,
  hits: readonly SearchHit[],
  showsDirectory: boolean,
): Promise<void> {
  const groups = await readHitGroups(store, hits, directory =>
    showsDirectory && directory !== null ? tildify(directory, env) : null,
  )
  for (const line of searchLines(groups, out.width, now(), out.style)) out.line(line)
}

async function countLine(
  store: ConversationReader,
  context: CommandContext,
  hits: readonly SearchHit[],
  { more, elsewhere, isAll }: { more: boolean; elsewhere: Counted | null; isAll: boolean },
): Promise<void> {
  const conversations = new Set(hits.map(hit => hit.conversation.id)).size
  const parts = [
    `${plural(hits.length, 'hit')} in ${plural(conversations, 'conversation')}${isAll ? '' : ' here'}`,
  ]
  if (more) parts.push(`-l ${Math.min(mostHits, hits.length * 5)} for more`)
  if (elsewhere && (elsewhere.isMore || elsewhere.hits > hits.length))
    parts.push(`--all: ${countWords(elsewhere)}`)
  parts.push(`read one: ${skeinCommand(context)} show ${await uniqueShortId(store, hits[0]!.message.id)}`)
  const { faint, symbols } = context.err.style
  if (context.quiet || context.json) return
  for (const line of wrap(parts.join(` ${symbols.bar} `), context.err.width)) context.err.line(faint(line))
}

function tabbed(context: CommandContext, hit: SearchHit): string {
  const { message, conversation, branches, snippet } = hit
  const fields = [
    message.id,
    conversation.id,
    branches[0] ?? '',
    message.createdAt.toISOString(),
    message.role,
    hitKind(hit),
    snippet.text,
  ]
  return fields.map(text => tsvField(context, text)).join('\t')
}
