import { z } from 'zod'
import { eventTypes } from '../../../core/event.ts'
import { roles } from '../../../core/message.ts'
import { timeSchema } from '../values.ts'

const after = z.string().optional().describe('next of the page before')

function limit(most: number, standard: number) {
  return z.coerce.number().int().min(1).max(most).optional().describe(`most items. Default: ${standard}`)
}

const depth = z.coerce.number().int().min(0).optional()
const order = z.enum(['ascending', 'descending']).optional()
const link = z.string().optional()

/** Several values of one parameter: `roles=user&roles=assistant` or `roles=user,assistant`. */
function several<T extends string>(values: readonly T[]) {
  return z
    .union([z.string(), z.array(z.string())])
    .transform(given => [given].flat().flatMap(text => text.split(',')))
    .pipe(z.array(z.enum(values as [T, ...T[]])))
    .optional()
}

/** The parameters of a list of conversations. `metadata.<name>=<value>` filters by metadata. */
export const listConversationsQuery = z
  .looseObject({
    channel: link.describe('an empty value asks for conversations without one'),
    directory: z
      .union([z.string(), z.array(z.string())])
      .optional()
      .describe('of this directory, without its subdirectories; may be repeated'),
    project: link,
    task: link,
    kind: z.enum(['main', 'subagent']).optional(),
    key_prefix: z.string().optional(),
    label_prefix: z.string().optional(),
    tag: z.string().optional(),
    title: z.string().optional().describe('text within the title'),
    parent: z.string().optional().describe('subagents that were started from this conversation'),
    updated_from: timeSchema.optional(),
    updated_before: timeSchema.optional(),
    trashed: z.enum(['true', 'false']).optional().describe('lists the trash'),
    limit: limit(1000, 20),
    after,
  })
  .superRefine((query, context) => refuseOthers(listConversationsQuery.shape, query, context))

/** The filters by metadata, whose names are those of the caller. */
export const metadataQuery = {
  prefix: 'metadata.',
  description:
    'only conversations whose metadata has this field with this value: `metadata.team=core`. ' +
    'true, false and numbers are compared as such, `"3"` in quotes as text',
} as const

/** A misspelt filter must not list everything. */
function refuseOthers(shape: object, query: object, context: z.RefinementCtx): void {
  for (const name of Object.keys(query)) {
    if (Object.hasOwn(shape, name) || name.startsWith(metadataQuery.prefix)) continue
    context.addIssue({ code: 'custom', path: [name], message: 'is not a parameter of this list' })
  }
}

/** The parameters of a list of conversations. */
export type ListConversationsQuery = z.output<typeof listConversationsQuery>

/** The parameters of a page. */
export const pageQuery = z.strictObject({ limit: limit(1000, 100), after })

/** The parameters of a page that can be read from either end. */
export const orderedPageQuery = z.strictObject({ order, limit: limit(1000, 100), after })

/** The parameters of a list of messages: a range of a path, or all messages by seq. */
export const listMessagesQuery = z
  .strictObject({
    branch: z.string().optional().describe('the path of this branch. Default: the active branch'),
    at: z.string().optional().describe('the path that ends with this message'),
    from: depth.describe('the depth of the first message. Default: so that the range ends with the path'),
    before: depth.describe('the depth behind the last message'),
    order: order.describe('reads all messages of the conversation by seq, in place of a path'),
    roles: several(roles).describe('only with order'),
    label: z.string().optional().describe('only with order'),
    limit: limit(1000, 100),
    after: after.describe('only with order: next of the page before'),
    after_seq: depth.describe('only with order=ascending: messages with a higher seq'),
    blobs: z.enum(['whole', 'preview']).optional().describe('preview returns the beginning of large parts'),
  })
  .refine(
    ({ order, ...rest }) => order !== undefined || !hasAny(rest, ['roles', 'label', 'after', 'after_seq']),
    {
      error: 'is required with roles, label, after and after_seq',
      path: ['order'],
    },
  )
  .refine(({ order, ...rest }) => order === undefined || !hasAny(rest, ['branch', 'at', 'from', 'before']), {
    error: 'cannot be combined with branch, at, from and before',
    path: ['order'],
  })
  .refine(({ branch, at }) => branch === undefined || at === undefined, {
    error: 'give either branch or at',
    path: ['at'],
  })

function hasAny(query: Readonly<Record<string, unknown>>, names: readonly string[]): boolean {
  return names.some(name => query[name] !== undefined)
}

/** The parameters of the compatible conversation: pages of its messages. */
export const compatQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).optional().describe('most messages, the newest. Default: all'),
  before: depth.describe('only messages with a lower depth'),
})

/** The parameters of a task: tasks of different projects may have the same name. */
export const taskQuery = z.strictObject({ ...compatQuery.shape, project: z.string().optional() })

/** The parameters of a list of turns. */
export const listTurnsQuery = z.strictObject({
  ...orderedPageQuery.shape,
  status: z.enum(['open', 'complete', 'interrupted', 'failed']).optional(),
})

/** The parameters of a list of events. */
export const listEventsQuery = z.strictObject({ ...orderedPageQuery.shape, types: several(eventTypes) })

/** The parameters of the context of a model call. */
export const contextQuery = z.strictObject({
  branch: z.string().optional().describe('default: the active branch'),
  model: z.string().optional().describe('default: the model of the conversation'),
  window: z.coerce.number().int().min(1).optional().describe('tokens. Default: the window of the model'),
})

/** The parameters of a search. `metadata.<name>=<value>` filters by metadata. */
export const searchQuery = z
  .looseObject({
    q: z.string().describe('words, "phrases", -words, role:user, in:<id>, since:2026-08-14'),
    order: z.enum(['newest', 'ranked']).optional(),
    limit: limit(200, 20),
    after,
    snippet_length: z.coerce.number().int().min(1).max(10_000).optional(),
    directory: z.union([z.string(), z.array(z.string())]).optional(),
    kind: z.enum(['main', 'subagent']).optional(),
    channel: link.describe('an empty value asks for conversations without one'),
    project: link,
    key_prefix: z.string().optional().describe('of conversations with a key that begins so'),
    label_prefix: z.string().optional(),
    tag: z.string().optional(),
  })
  .superRefine((query, context) => refuseOthers(searchQuery.shape, query, context))

/** The parameters of a search. */
export type SearchQueryParameters = z.output<typeof searchQuery>

/** The parameters of an export of everything. */
export const exportQuery = z.strictObject({
  format: z.enum(['native']).optional().describe('native: the only format of several conversations'),
})

/** The parameters of an export of one conversation. */
export const exportConversationQuery = z.strictObject({
  format: z.enum(['native', 'markdown', 'html']).optional().describe('default: native'),
  branch: z.string().optional().describe('for markdown and html: what comes first. Default: the active one'),
  all: z.enum(['true', 'false']).optional().describe('for markdown: all branches. Default: one'),
})
