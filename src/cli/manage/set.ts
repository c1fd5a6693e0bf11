import { metadataValue } from '../../api/metadata-value.ts'
import { parseDuration } from '../../config/duration.ts'
import { toolResultPolicy } from '../../config/values.ts'
import type { Conversation, ConversationPatch } from '../../core/conversation.ts'
import { type Args, type CommandHandler, textOption, textOptions } from '../command-line/command.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { splitAssignment } from '../command-line/metadata-option.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { uniqueShortId } from '../output/short-id.ts'
import { withStore } from '../store/with-store.ts'
import { needIdOrTitle } from '../target/find-named.ts'

/** `skein set`: changes the task, project, expiry, metadata or tool-result policy of a conversation, or shows
 *  them. */
export const setCommand: CommandHandler = (args, context) => {
  const [text = ''] = args.arguments
  checkCleared(args)
  return withStore(context, async store => {
    const { conversation, message } = await needIdOrTitle(text, store, context)
    if (message !== null)
      throw new UsageError(`${text} is a message, and set is for conversations`, 'skein ls lists them')
    const patch = patchOf(args, conversation, context.now())
    const changes = Object.keys(patch).length > 0
    const now = changes ? await store.updateConversation(conversation.id, patch) : conversation
    if (context.json) {
      context.out.line(JSON.stringify({ conversation: now.id, ...settingsJson(now) }))
      return exitCode.ok
    }
    const output = changes ? context.err : context.out
    if (changes && context.quiet) return exitCode.ok
    if (changes) output.line(`set ${output.style.id(await uniqueShortId(store, now.id))}`)
    for (const [name, value] of settingLines(now)) {
      const isChanged = !changes || JSON.stringify(value) !== JSON.stringify(before(name, conversation))
      if (isChanged) output.line(`  ${name.padEnd(14)}${output.style.safe(value)}`)
    }
    return exitCode.ok
  })
}

/** The fields that `--clear` takes, and the option that sets each. */
const clearable = ['task', 'project', 'expires', 'metadata', 'tool-results'] as const

function checkCleared(args: Args): void {
  for (const field of textOptions(args, 'clear')) {
    const known = clearable.find(one => one === field)
    if (!known) throw new UsageError(`--clear does not know ${field}`, `It takes ${clearable.join(', ')}`)
    if (args.options[known] !== undefined)
      throw new UsageError(`--${field} and --clear ${field} contradict each other`, 'Drop one')
  }
}

function patchOf(args: Args, { metadata }: Conversation, now: number): ConversationPatch {
  const cleared = new Set(textOptions(args, 'clear'))
  const text = (name: 'task' | 'project'): ConversationPatch => {
    if (cleared.has(name)) return { [name]: null }
    const value = textOption(args, name)
    if (value?.trim() === '')
      throw new UsageError(`--${name} must not be empty`, `To remove it: --clear ${name}`)
    return value === undefined ? {} : { [name]: value }
  }
  const given = textOptions(args, 'metadata').map(text => splitAssignment(text))
  const added = Object.fromEntries(given.map(([key, value]) => [key, metadataValue(value)]))
  return {
    ...text('task'),
    ...text('project'),
    ...(cleared.has('expires')
      ? { expiresAt: null, ttlMs: null }
      : expiryOf(textOption(args, 'expires'), now)),
    ...(cleared.has('metadata')
      ? { metadata: {} }
      : given.length > 0
        ? { metadata: { ...metadata, ...added } }
        : {}),
    ...toolResultsOf(cleared.has('tool-results') ? 'full' : textOption(args, 'tool-results')),
  }
}

/** `30d` counts from the last activity, a date is fixed. */
function expiryOf(text: string | undefined, now: number): ConversationPatch {
  if (text === undefined) return {}
  if (text === 'never') return { expiresAt: null, ttlMs: null }
  const ms = parseDuration(text)
  if (ms !== null && ms > 0) return { expiresAt: new Date(now + ms), ttlMs: ms }
  const isDate = /^\d{4}-\d{2}-\d{2}(T.*)?$/.test(text)
  const date = isDate ? Date.parse(text) : Number.NaN
  if (Number.isNaN(date))
    throw new UsageError(
      `--expires takes a time such as 30d, a date such as 2027-01-31, or never, not ${JSON.stringify(text)}`,
    )
  return { expiresAt: new Date(date), ttlMs: null }
}

function toolResultsOf(text: string | undefined): ConversationPatch {
  if (text === undefined) return {}
  const policy = toolResultPolicy(text)
  if (policy instanceof Error)
    throw new UsageError(
      `--tool-results takes full, metadata or a number of characters, not ${JSON.stringify(text)}`,
    )
  return { toolResults: policy }
}

function settingsJson({ task, project, expiresAt, ttlMs, metadata, toolResults, tags }: Conversation) {
  return {
    task,
    project,
    expires_at: expiresAt?.toISOString() ?? null,
    ttl_ms: ttlMs,
    metadata,
    tool_results: typeof toolResults === 'string' ? toolResults : toolResults.truncate,
    tags,
  }
}

function settingLines(one: Conversation): readonly (readonly [name: string, value: string])[] {
  const { task, project, expires_at: expires, metadata, tool_results: results } = settingsJson(one)
  return [
    ['task', task ?? 'none'],
    ['project', project ?? 'none'],
    ['expires', expires ?? 'never'],
    ['metadata', JSON.stringify(metadata)],
    ['tool-results', typeof results === 'string' ? results : `${results} characters`],
  ]
}

function before(name: string, conversation: Conversation): string | undefined {
  return settingLines(conversation).find(([one]) => one === name)?.[1]
}
