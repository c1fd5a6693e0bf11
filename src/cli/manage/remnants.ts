import { existsSync } from 'node:fs'
import { type Message, textOf } from '../../core/message.ts'
import type { Maintainer } from '../../core/ports.ts'
import type { Remnant } from '../../core/removal.ts'
import { forgetInputs, inputHistoryFile } from '../chat/input/input-history.ts'
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

/** Removes the words of deleted messages from the file and from the input history. Rewrites an SQLite file if
 *  words may be in its free space. */
export async function removeRemnants(
  store: Pick<Maintainer, 'compact'>,
  removed: readonly Message[],
  places: readonly Remnant[],
  context: CommandContext,
): Promise<Remnants> {
  return {
    places: places.includes('file') ? (await store.compact()).remains : places,
    inputs: forgetIn(removed, context),
  }
}

function forgetIn(removed: readonly Message[], { env }: CommandContext): number | null {
  try {
    return forgetInputs(inputHistoryFile(env), removed.map(textOf))
  } catch {
    return null
  }
}

/** Prints where the words were removed besides the store, and where copies may remain. */
export function tellRemnants({ places, inputs }: Remnants, context: CommandContext): void {
  const { err } = context
  const note = (text: string) => err.line(noteLine(text, err))
  if (inputs === null)
    note(
      `words may remain in ${tildify(inputHistoryFile(context.env), context.env)}, which cannot be written`,
    )
  else if (inputs > 0) err.line(`removed ${plural(inputs, 'line')} from the input history`)
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
