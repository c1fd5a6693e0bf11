import type { StoreRecord } from '../../core/record.ts'

/** A conversation whose branch did not come, or was not taken. */
export interface MissingBranch {
  readonly conversation: string
  readonly branch: string
  readonly line: number
}

/** Watches whether conversations come with the branch that they would be gone on with: without it one looks empty, though
 *  all of it is there. */
export interface ActiveBranches {
  seen(record: StoreRecord, line: number): void
  refused(record: StoreRecord, line: number): void
  missing(): Iterable<MissingBranch>
}

/** Holds only what has not come yet: in a whole file that is one conversation at a time. */
export function activeBranches(): ActiveBranches {
  const waiting = new Map<string, MissingBranch>()
  return {
    seen(record, line) {
      if (record.kind === 'conversation') {
        waiting.set(record.id, { conversation: record.id, branch: record.activeBranch, line })
      } else if (record.kind === 'branch' && waiting.get(record.conversationId)?.branch === record.name) {
        waiting.delete(record.conversationId)
      }
    },
    refused(record, line) {
      if (record.kind === 'conversation') waiting.delete(record.id)
      if (record.kind !== 'branch') return
      const { conversationId: conversation, name: branch } = record
      waiting.set(conversation, { conversation, branch, line })
    },
    missing: () => waiting.values(),
  }
}
