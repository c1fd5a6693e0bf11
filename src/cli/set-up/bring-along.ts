import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import type { ConversationId } from '../../core/ids.ts'
import { collectPages } from '../../core/pages.ts'
import type { Deleter, Lister, MessageReader, RecordMover } from '../../core/ports.ts'
import { takeIn } from '../../core/take-in.ts'
import { findStore } from '../store/store-location.ts'
import { projectDirectories, type Workplace } from '../target/scope.ts'

/** The store that the project used before it had its own; null if there is none. */
export function storeBefore({ cwd, env }: Workplace): string | null {
  const { target } = findStore(undefined, { ...env, SKEIN_DB: undefined }, dirname(cwd))
  return existsSync(target) ? target : null
}

/** The conversations of the project, and the runs of subagents that they started. */
export async function conversationsHere(
  store: Lister,
  context: Workplace,
): Promise<readonly ConversationId[]> {
  const ids = new Set<ConversationId>()
  const directory = await projectDirectories(store, context)
  for (const { id } of await collectPages(page => store.listConversations({ directory, ...page })))
    ids.add(id)
  // The set grows while it is read: a subagent may have started others.
  for (const parent of ids) {
    for (const { id } of await collectPages(page => store.listConversations({ parent, ...page }))) ids.add(id)
  }
  return [...ids]
}

/** What was moved, and which conversations stay, with the reason. */
export interface BroughtAlong {
  readonly moved: number
  readonly left: readonly { readonly id: ConversationId; readonly reason: string }[]
}

/** Copies conversations into another store and moves the originals to the trash, one after the other. A
 *  conversation that cannot be copied completely, or that is being answered, stays. */
export async function bringAlong(
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
    const open = await collectPages(page => from.listTurns(id, { status: 'open', ...page }))
    return open.some(({ leaseUntil }) => leaseUntil === null || leaseUntil.getTime() > now)
  }
}
