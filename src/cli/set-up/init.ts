import { chmodSync, existsSync, lstatSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { trashGraceMs } from '../../core/conversation.ts'
import type { ConversationId } from '../../core/ids.ts'
import { itemsOf } from '../../core/pages.ts'
import type { Deleter, Lister, MessageReader } from '../../core/ports.ts'
import type { RecordMover } from '../../core/record.ts'
import { takeIn } from '../../core/take-in.ts'
import { type Args, type CommandHandler, hasOption } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { confirm } from '../command-line/confirm.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { plural } from '../output/number.ts'
import { noteLine } from '../output/print.ts'
import { shortenId } from '../output/short-id.ts'
import { tildify } from '../output/tildify.ts'
import { formatDay } from '../output/time.ts'
import { findStore } from '../store/store-location.ts'
import { projectDirectories, type Workplace } from '../target/scope.ts'

/** `skein init`: creates a store for this project, and offers to move its conversations into it. */
export const initCommand: CommandHandler = async (args, context) => {
  if (hasOption(args, 'db'))
    throw new UsageError('init creates .skein/ here, and --db names another place', 'Drop it')
  const folder = join(context.cwd, '.skein')
  const file = join(folder, 'conversations.db')
  const created = !existsSync(file)
  const there = lstatSync(folder, { throwIfNoEntry: false })
  if (there && !there.isDirectory())
    throw new UsageError('.skein already exists, and is not a folder', 'Move it away')
  if (created) {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    // The folder may have existed with wider permissions.
    chmodSync(folder, 0o700)
    const ignore = join(folder, '.gitignore')
    if (!existsSync(ignore)) writeFileSync(ignore, '*\n', { mode: 0o600, flag: 'wx' })
    const { openStore } = await import('../../stores/open.ts')
    await (await openStore(file)).close()
  }
  if (!context.json && !context.quiet) {
    const { dot } = context.err.style.symbols
    if (created)
      context.err.line(`made .skein/ ${dot} conversations of this project are now kept in it, out of git`)
    else if (!hasOption(args, 'bring')) context.err.line('.skein/ already exists. Nothing was changed')
    if (context.env.SKEIN_DB) context.err.line(noteLine('SKEIN_DB is set, and is used instead', context.err))
  }
  const brought = created || hasOption(args, 'bring') ? await offer(args, file, context) : null
  if (context.json) context.out.line(JSON.stringify({ folder, file, created, brought: brought?.moved ?? 0 }))
  return brought && brought.left.length > 0 ? exitCode.failure : exitCode.ok
}

/** Moves what is stored of this project elsewhere into its own store, if the user wants it. */
async function offer(args: Args, file: string, context: CommandContext): Promise<BroughtAlong | null> {
  const before = storeBefore(context)
  if (before === null || context.env.SKEIN_DB) return null
  const { openStore } = await import('../../stores/open.ts')
  await using from = await openStore(before)
  const ids = await conversationsHere(from, context)
  if (ids.length === 0) {
    if (hasOption(args, 'bring'))
      say(context, `no conversations of this project in ${tildify(before, context.env)}`)
    return null
  }
  const what = `${plural(ids.length, 'conversation')} of this project ${ids.length === 1 ? 'is' : 'are'} in ${tildify(before, context.env)}`
  const isWanted =
    hasOption(args, 'bring') ||
    (context.canAsk && !context.quiet && !context.json && (await confirm(`${what}. Move here?`, context)))
  if (!isWanted) {
    const { dot } = context.err.style.symbols
    say(
      context,
      context.canAsk
        ? 'left there. Move them later: skein init --bring'
        : `${what} ${dot} move here: skein init --bring`,
    )
    return null
  }
  await using to = await openStore(file)
  const brought = await bringAlong(from, to, ids, context.now())
  const { dot } = context.err.style.symbols
  if (brought.moved > 0) {
    const until = formatDay(new Date(context.now() + trashGraceMs))
    say(
      context,
      `moved ${plural(brought.moved, 'conversation')} here ${dot} the originals are in the trash of ${tildify(before, context.env)} until ${until}`,
    )
  }
  for (const { id, reason } of brought.left)
    say(context, noteLine(`${shortenId(id)} stays there: ${reason}`, context.err))
  return brought
}

function say(context: CommandContext, text: string): void {
  if (!context.quiet && !context.json) context.err.line(text)
}

/** The store that the project used before it had its own; null if there is none. */
function storeBefore({ cwd, env }: Workplace): string | null {
  const { target } = findStore(undefined, { ...env, SKEIN_DB: undefined }, dirname(cwd))
  return existsSync(target) ? target : null
}

/** The conversations of the project, and the runs of subagents that they started. */
async function conversationsHere(store: Lister, context: Workplace): Promise<readonly ConversationId[]> {
  const ids = new Set<ConversationId>()
  const directory = await projectDirectories(store, context)
  for await (const { id } of itemsOf(page => store.listConversations({ directory, ...page }))) ids.add(id)
  // The set grows while it is read: a subagent may have started others.
  for (const parent of ids) {
    for await (const { id } of itemsOf(page => store.listConversations({ parent, ...page }))) ids.add(id)
  }
  return [...ids]
}

/** What was moved, and which conversations stay, with the reason. */
interface BroughtAlong {
  readonly moved: number
  readonly left: readonly { readonly id: ConversationId; readonly reason: string }[]
}

/** Copies conversations into another store and moves the originals to the trash, one after the other. A
 *  conversation that cannot be copied completely, or that is being answered, stays. */
async function bringAlong(
  from: RecordMover & MessageReader & Pick<Deleter, 'trash'>,
  to: RecordMover,
  ids: readonly ConversationId[],
  now: number,
): Promise<BroughtAlong> {
  let moved = 0
  const left: { id: ConversationId; reason: string }[] = []
  for (const id of ids) {
    const reason = (await isLive(id)) ? 'it is being answered' : await copy(id)
    if (reason !== null) left.push({ id, reason })
    else {
      await from.trash(id)
      moved++
    }
  }
  return { moved, left }

  async function copy(id: ConversationId): Promise<string | null> {
    let problem: string | null = null
    await takeIn(to, records(), {
      onSpecial: (_, written) => {
        if (written.outcome === 'refused') problem ??= written.reason
      },
    })
    return problem

    async function* records() {
      for await (const record of from.readRecords(id)) {
        if (record.kind === 'unreadable') problem ??= record.reason
        else yield { record, file: '', line: 0 }
      }
    }
  }

  async function isLive(id: ConversationId): Promise<boolean> {
    const open = itemsOf(page => from.listTurns(id, { status: 'open', ...page }))
    for await (const { leaseUntil } of open)
      if (leaseUntil === null || leaseUntil.getTime() > now) return true
    return false
  }
}
