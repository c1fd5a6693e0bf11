import { type output, type ZodType, z } from 'zod'
import { roles } from '../../core/message.ts'

/** The id of a conversation or a message, never shortened. */
export const idSchema = z.string().describe('full id')

/** A time in UTC. */
export const timeSchema = z.iso.datetime()

/** A whole number that is not negative. */
export const countSchema = z.int().nonnegative()

/** An amount of money. */
export const dollarsSchema = z
  .number()
  .nonnegative()
  .nullable()
  .describe('US dollars; null if the price is unknown')

/** The author of a message. */
export const roleSchema = z.enum(roles)

/** Data of the caller. */
export const metadataSchema = z.record(z.string(), z.unknown())

/** Where the system prompt of the next turn comes from. */
export const promptPolicySchema = z
  .enum(['rebuild', 'stored'])
  .describe('the system prompt of the next turn: rebuild: that of its caller; stored: `prompt`')

/** The end of a lease. */
export const leaseSchema = timeSchema
  .nullable()
  .describe('the end of the lease: its process holds it until then, and renews it while it lives')

/** How the tool results of a conversation are stored. */
export const toolResultsSchema = z
  .union([z.enum(['full', 'metadata']), countSchema])
  .describe('how tool results are stored; a number: cut to so many characters')

/** The schema or null. Used in place of `nullable` for schemas with a name: a generator of OpenAPI documents
 *  would make the named schema itself nullable. */
export function nullOr<S extends ZodType>(schema: S) {
  return z.union([schema, z.null()])
}

/** A page of a list, as HTTP returns it. */
export function pageSchema<S extends ZodType>(item: S) {
  return z.strictObject({
    items: z.array(item),
    next: z.string().nullable().describe('pass it as `after` to read the next page; null on the last page'),
    skipped: z
      .array(z.strictObject({ id: z.string(), reason: z.string() }))
      .describe('rows that could not be read'),
  })
}

/** The JSON that a schema describes, as a mapping returns it. */
export type JsonOf<S extends ZodType> = ReadonlyJson<output<S>>

/** The same with members that cannot be assigned, at every level. */
export type ReadonlyJson<T> = T extends object ? { readonly [K in keyof T]: ReadonlyJson<T[K]> } : T
