import { existsSync } from 'node:fs'
import type { BranchRef } from '../../core/branch.ts'
import type { ConversationId } from '../../core/ids.ts'
import type { Maintainer } from '../../core/maintainer.ts'
import { textOf } from '../../core/message.ts'
import { itemsOf } from '../../core/pages.ts'
import type { Lister } from '../../core/ports.ts'
import type { Remnant } from '../../core/removal.ts'
import { containsSeq, type SeqRange } from '../../core/runs.ts'
import { forgetInputs, inputHistoryFile, repeatedInputs } from '../chat/input/input-history.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { plural } from '../output/number.ts'
import { noteLine } from '../output/print.ts'
import { tildify } from '../output/tildify.ts'
import { skeinCommand } from '../store/skein-command.ts'

/** Where removed words may remain after all that a command can do about it. */
export interface Remnants {
  readonly places: readonly Remnant[]
  /** Lines removed from the input history, because they repeat the messages. Null if the file could not be
   *  written. */
  readonly inputs: number | null
}

/** Removes the words of erased messages from the file and from the input history. Rewrites an SQLite file if
 *  words may be in its free space. */
export async function removeRemnants(
  store: Pick<Maintainer, 'compact'>,
  repeated: ReadonlySet<string>,
  places: readonly Remnant[],
  context: CommandContext,
): Promise<Remnants> {
  return {
    places: places.includes('file') ? (await store.compact()).remains : places,
    inputs: forgetLines(repeated, context),
  }
}

/** The lines of the input history that repeat the user's messages of a conversation, or of these parts of
 *  it. To be called before the messages are removed. */
export async function inputsOf(
  store: Pick<Lister, 'listMessages'>,
  conversationId: ConversationId,
  { env }: CommandContext,
  ranges: readonly SeqRange[] | null = null,
): Promise<ReadonlySet<string>> {
  return repeatedInputs(inputHistoryFile(env), texts())

  async function* texts(): AsyncGenerator<string> {
    const list = { conversationId, roles: ['user'], blobs: 'preview' } as const
    for await (const message of itemsOf(page => store.listMessages({ ...list, ...page, order: 'ascending' })))
      if (ranges === null || containsSeq(ranges, message.seq)) yield textOf(message)
  }
}

/** Removes lines from the input history. Null if the file could not be written. */
export function forgetLines(lines: ReadonlySet<string>, { env }: CommandContext): number | null {
  if (lines.size === 0) return 0
  try {
    return forgetInputs(inputHistoryFile(env), lines)
  } catch {
    return null
  }
}

/** Prints the new names of branches whose names repeated removed words. */
export function tellBranches(branches: readonly BranchRef[], { err }: CommandContext): void {
  if (branches.length === 0) return
  const names = branches.map(({ name }) => err.style.branch(err.style.safe(name)))
  err.line(`${branches.length === 1 ? 'its branch is' : 'their branches are'} called ${names.join(', ')} now`)
}

/** Prints how many lines were removed from the input history. */
export function tellInputs(inputs: number | null, { err, env }: CommandContext): void {
  const file = tildify(inputHistoryFile(env), env)
  if (inputs === null) err.line(noteLine(`words may remain in ${file}, which cannot be written`, err))
  else if (inputs > 0) err.line(`removed ${plural(inputs, 'line')} from the input history`)
}

/** Prints where the words were removed besides the store, and where copies may remain. */
export function tellRemnants({ places, inputs }: Remnants, context: CommandContext): void {
  const { err } = context
  const note = (text: string) => err.line(noteLine(text, err))
  tellInputs(inputs, context)
  const compact = `${skeinCommand(context)} gc --compact`
  const isServer = places.includes('dead_rows')
  if (isServer) note(`PostgreSQL keeps old row versions until a VACUUM. Do it now: ${compact}`)
  else if (places.includes('file') || places.includes('log'))
    note(`another process uses the store: words may remain in its files. Later: ${compact}`)
  const copies = ['backups', 'exports', 'copies of other people and providers']
  if (places.includes('log') && isServer) copies.unshift("the server's write-ahead log")
  err.line(`copies may remain in: ${copies.join(', ')}`)
  const old = oldCopy(context)
  if (old !== null) err.line(`  ${old} (the store before its last migration)`)
}

/** The copy that was made before the last migration, if there is one. */
function oldCopy({ location, env }: CommandContext): string | null {
  const { target, isFile } = location()
  const copy = `${target}.before-migration`
  return isFile && existsSync(copy) ? tildify(copy, env) : null
}
