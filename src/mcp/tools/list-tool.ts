import { z } from 'zod'
import { quoted } from '../../agent/recall/page-text.ts'
import { fence, guardAfterLabel } from '../../context/text/guard-lines.ts'
import { collapseSpaces } from '../../core/collapse-spaces.ts'
import { InvalidError } from '../../core/errors.ts'
import { gistOf } from '../../core/gist.ts'
import type { ListConversations, ListedConversation, Page } from '../../core/listing.ts'
import type { ConversationOverview } from '../../core/overview.ts'
import type { Lister } from '../../core/ports.ts'
import {
  type EndpointTool,
  endpointTool,
  readOnly,
  recalledNotice,
  type ToolSetting,
} from './endpoint-tool.ts'
import { type OpenScope, openScope } from './open-scope.ts'

const input = z.strictObject({
  all: z
    .boolean()
    .optional()
    .describe('False: only this project. True: every directory, if the server shows them'),
  title: z.string().min(1).optional().describe('Text within the title'),
  tag: z.string().min(1).optional(),
  label: z.string().min(1).optional().describe('The beginning of the label'),
  channel: z.string().min(1).optional().describe('Where it was held, such as cli or discord'),
  project: z.string().min(1).optional(),
  task: z.string().min(1).optional(),
  kind: z.enum(['main', 'subagent']).default('main').describe('With a person, or the run of a subagent'),
  since: z
    .string()
    .optional()
    .describe('With activity at this time or later: 2026-08-14, or 2026-08-14T10:00:00Z'),
  before: z.string().optional().describe('Whose last activity was before this time'),
  limit: z.int().min(1).max(100).default(20),
  after: z.string().optional().describe('`next` of the page before'),
})

const output = z.object({
  notice: z.string(),
  conversations: z.array(
    z.object({
      id: z.string(),
      title: z.string().nullable(),
      kind: z.string(),
      directory: z.string().nullable(),
      channel: z.string().nullable(),
      model: z.string().nullable(),
      label: z.string().nullable(),
      tags: z.array(z.string()),
      messages: z.number(),
      branches: z.number(),
      created_at: z.string(),
      updated_at: z.string(),
      last: z.string().nullable().describe('The last message, shortened'),
    }),
  ),
  next: z.string().nullable().describe('Pass it as `after` to read the next page'),
  unreadable: z.array(z.object({ id: z.string(), reason: z.string() })).describe('Damaged conversations'),
})

/** `list_conversations`: the conversations of the scope, most recently used first. */
export function listTool({ store, scope }: ToolSetting): EndpointTool {
  return endpointTool({
    name: 'list_conversations',
    title: 'List conversations',
    description:
      'Lists stored conversations with any agent, most recently used first, with title, time and last words. Read one with read_conversation.',
    input,
    output,
    annotations: readOnly,
    needs: 'read',
    async run({ all, limit, after, since, before, label, channel, ...same }) {
      const opened = await store('read')
      const open = await openScope(opened, scope, all)
      const filter: ListConversations = {
        ...defined(same),
        ...(label !== undefined && { labelPrefix: label }),
        ...(since !== undefined && { updatedFrom: timeOf('since', since) }),
        ...(before !== undefined && { updatedBefore: timeOf('before', before) }),
        ...(open.directories !== null && { directory: open.directories }),
        ...channelOf(open.channel, channel),
      }
      const { items, next, skipped } = await admitted(opened, filter, limit, after, open)
      const overviews = await opened.readOverviews(items)
      const unreadable = skipped.map(({ id, reason }) => ({ id, reason }))
      const data = {
        notice: recalledNotice,
        conversations: overviews.map(rowOf),
        next,
        unreadable,
      }
      return { text: textOf(data), data }
    },
  })
}

/** The channel of the scope cannot be left by an argument. */
function channelOf(scope: string | null, asked: string | undefined): Pick<ListConversations, 'channel'> {
  if (scope !== null && asked !== undefined && asked !== scope)
    throw new InvalidError('channel', `this server shows the channel ${scope}. Leave \`channel\` out`)
  const channel = scope ?? asked
  return channel === undefined ? {} : { channel }
}

function timeOf(field: string, text: string): Date {
  const time = new Date(text)
  if (!/^\d{4}-/.test(text) || Number.isNaN(time.getTime()))
    throw new InvalidError(
      field,
      `${JSON.stringify(text)} is not a time. Write 2026-08-14 or 2026-08-14T10:00:00Z`,
    )
  return time
}

function defined<T extends object>(given: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as never
}

/** Most pages that one call reads if conversations are refused. `next` continues it. */
const mostPages = 20

/** Lists, and leaves out what is not in the scope. */
async function admitted(
  store: Lister,
  filter: ListConversations,
  limit: number,
  first: string | undefined,
  { admits }: OpenScope,
): Promise<Page<ListedConversation>> {
  const items: ListedConversation[] = []
  const skipped: Page<ListedConversation>['skipped'][number][] = []
  let after = first
  for (let pages = 1; ; pages++) {
    const page = await store.listConversations({
      ...filter,
      limit: limit - items.length,
      ...(after !== undefined && { after }),
    })
    for (const one of page.items) if (await admits(one)) items.push(one)
    skipped.push(...page.skipped)
    if (page.next === null || items.length >= limit || pages === mostPages)
      return { items, next: page.next, skipped }
    after = page.next
  }
}

type Row = z.output<typeof output>['conversations'][number]

function rowOf({ conversation: one, pathMessages, branches, last }: ConversationOverview): Row {
  return {
    id: one.id,
    title: one.title,
    kind: one.kind,
    directory: one.directory,
    channel: one.channel,
    model: one.model,
    label: one.label,
    tags: [...one.tags],
    messages: pathMessages,
    branches,
    created_at: one.createdAt.toISOString(),
    updated_at: one.updatedAt.toISOString(),
    last: last === null ? null : gistOf(last).slice(0, 200),
  }
}

function textOf({ conversations, next, unreadable }: z.output<typeof output>): string {
  const more = next === null ? [] : [`More: the same filters with after ${quoted(next)}.`]
  const damaged = unreadable.map(({ id, reason }) => `${id} cannot be read: ${guardAfterLabel(reason)}`)
  if (conversations.length === 0) return ['There are no such conversations.', ...more, ...damaged].join('\n')
  const lines = conversations.map(({ id, title, updated_at, messages, directory, last }) => {
    const facts = [`Conversation ${id}`, ...(title === null ? [] : [quoted(title)])].join(' ')
    const where = directory === null ? '' : ` in ${quoted(directory)}`
    const words = last === null || last === '' ? '' : `\nLast words: ${guardAfterLabel(collapseSpaces(last))}`
    return `${facts}, ${updated_at}, ${messages} messages${where}${words}`
  })
  return [recalledNotice, `<${fence}>`, lines.join('\n\n'), `</${fence}>`, ...more, ...damaged].join('\n')
}
