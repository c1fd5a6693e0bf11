import type { Page } from '../core/listing.ts'
import type { Appended, Resolved } from '../core/ports.ts'
import type {
  appendedSchema,
  askedSchema,
  doneSchema,
  JsonOf,
  resetDoneSchema,
  resolvedSchema,
} from './schema/index.ts'

/** The result of an append as JSON. */
export type AppendedJson = JsonOf<typeof appendedSchema>

/** What a text refers to, as JSON. */
export type ResolvedJson = JsonOf<typeof resolvedSchema>

/** The result of a deletion as JSON. */
export type DoneJson = JsonOf<typeof doneSchema>

/** The result of a reset as JSON. */
export type ResetDoneJson = JsonOf<typeof resetDoneSchema>

/** A turn that has begun, as JSON. */
export type AskedJson = JsonOf<typeof askedSchema>

/** Maps the result of an append to JSON. */
export function appendedJson({ branch, head, ids, outcome }: Appended): AppendedJson {
  return { branch: branch.name, head, ids, outcome }
}

/** Maps what a text refers to. */
export function resolvedJson({ conversation, branch, message }: Resolved): ResolvedJson {
  return { conversation: conversation.id, branch: branch.name, message }
}

/** A page of a list as JSON. */
export interface PageJson<T> {
  /** The items of this page, in the order of the list. */
  readonly items: readonly T[]
  /** Pass it as `after` to read the next page. Null on the last page. */
  readonly next: string | null
  /** Rows that could not be read, with the reason. */
  readonly skipped: readonly { readonly id: string; readonly reason: string }[]
}

/** Maps a page to JSON, item by item. */
export function pageJson<T, J>({ items, next, skipped }: Page<T>, map: (item: T) => J): PageJson<J> {
  return { items: items.map(map), next, skipped: skipped.map(({ id, reason }) => ({ id, reason })) }
}
