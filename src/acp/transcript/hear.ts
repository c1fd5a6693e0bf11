import type { Json, JsonObject } from '../../core/json.ts'
import { isObject } from '../wire/is-object.ts'
import { blockFromContent } from './content.ts'
import type { CallChange, Heard } from './heard.ts'
import { metaWithoutTerminals, terminalsInMeta } from './terminal.ts'

/** Reads `params.update` of `session/update`. Accepts anything and never throws: an update that is unknown or
 *  incomplete is `other`. */
export function hear(update: unknown): Heard {
  if (!isObject(update) || typeof update.sessionUpdate !== 'string') return { type: 'other', name: '' }
  const name = update.sessionUpdate
  const read = Object.hasOwn(readers, name) ? readers[name]! : null
  return read?.(update) ?? { type: 'other', name }
}

/** The details of a call in a permission request. Some agents send the command only there. Null if there are
 *  none. */
export function callInPermission({ toolCall }: JsonObject): CallChange | null {
  const heard = isObject(toolCall) ? callOf(toolCall) : null
  if (heard?.type !== 'call') return null
  const { status: _, ...call } = heard.call
  return call
}

/** Null if the update lacks an essential field. Messages of other sessions, notices, compactions and
 *  subagents are about the agent, and not part of this conversation: they are traced. */
const readers: Readonly<Record<string, (update: JsonObject) => Heard | null>> = {
  user_message_chunk: update => pieceOf('user', update),
  agent_message_chunk: update => pieceOf('answer', update),
  agent_thought_chunk: thoughtOf,
  tool_call: callOf,
  tool_call_update: callOf,
  plan: ({ entries }) => (Array.isArray(entries) ? { type: 'plan', entries } : null),
  plan_update: ({ plan }) => {
    if (!isObject(plan)) return null
    return { type: 'plan', entries: Array.isArray(plan.entries) ? plan.entries : plan }
  },
  notice: asideOf,
  compaction_update: asideOf,
  compaction_summary_chunk: asideOf,
  subagent_update: asideOf,
  session_message: asideOf,
  session_message_chunk: asideOf,
  usage_update: usageOf,
  session_info_update: ({ title }) =>
    typeof title === 'string' || title === null ? { type: 'title', title } : null,
  available_commands_update: commandsOf,
  current_mode_update: ({ currentModeId: mode }) =>
    typeof mode === 'string' ? { type: 'mode', mode } : null,
}

function pieceOf(type: 'user' | 'answer', { content, messageId }: JsonObject): Heard | null {
  return isObject(content)
    ? { type, block: blockFromContent(content), messageId: textOrNull(messageId) }
    : null
}

function thoughtOf({ content, messageId }: JsonObject): Heard | null {
  if (!isObject(content) || content.type !== 'text' || typeof content.text !== 'string') return null
  return { type: 'thought', text: content.text, messageId: textOrNull(messageId) }
}

function callOf(update: JsonObject): Heard | null {
  const { toolCallId: callId, title, kind, status, rawInput, rawOutput, content, locations, _meta } = update
  if (typeof callId !== 'string' || callId === '') return null
  const name = toolNameOf(update)
  // Null means the same as absent: unchanged.
  const call: CallChange = {
    callId,
    ...(name === null ? {} : { name }),
    ...(typeof title === 'string' ? { title } : {}),
    ...(typeof kind === 'string' ? { kind } : {}),
    ...(isStatus(status) ? { status } : {}),
    ...(isThere(rawInput) ? { input: rawInput } : {}),
    ...(isThere(rawOutput) ? { output: rawOutput } : {}),
    ...(Array.isArray(content) ? { content: content.filter(isObject) } : {}),
    ...(Array.isArray(locations) ? { locations } : {}),
    ...(isObject(_meta) ? metaOf(_meta, callId) : {}),
  }
  return { type: 'call', call }
}

/** Most characters of one member of `_meta`: some agents repeat whole outputs there. */
const mostMeta = 16 * 1024

function metaOf(meta: JsonObject, callId: string): Pick<CallChange, 'meta' | 'terminals'> {
  const terminals = terminalsInMeta(meta, callId)
  const kept = Object.entries(metaWithoutTerminals(meta)).filter(
    ([key, value]) => key.length + JSON.stringify(value).length <= mostMeta,
  )
  return {
    ...(kept.length > 0 ? { meta: Object.fromEntries(kept) } : {}),
    ...(terminals.length > 0 ? { terminals } : {}),
  }
}

/** The protocol's `name` is recent. Older agents send the name as `_meta.<agent>.toolName`. */
function toolNameOf({ name, _meta }: JsonObject): string | null {
  if (typeof name === 'string' && name !== '') return name
  const vendors = isObject(_meta) ? Object.values(_meta).filter(isObject) : []
  const names = vendors.map(({ toolName }) => toolName)
  return names.find((toolName): toolName is string => typeof toolName === 'string' && toolName !== '') ?? null
}

function commandsOf({ availableCommands }: JsonObject): Heard | null {
  if (!Array.isArray(availableCommands)) return null
  const names = availableCommands.map(command => (isObject(command) ? textOrNull(command.name) : null))
  return { type: 'commands', names: names.flatMap(name => (name === null ? [] : [name.replace(/^\//, '')])) }
}

function asideOf({ sessionUpdate, ...update }: JsonObject): Heard {
  const isSmall = JSON.stringify(update).length <= mostMeta
  return { type: 'aside', name: String(sessionUpdate), update: isSmall ? update : { isTooLarge: true } }
}

function usageOf({ used, size, cost }: JsonObject): Heard | null {
  if (!isCount(used) || !isCount(size)) return null
  const dollars = isObject(cost) && (cost.currency ?? 'USD') === 'USD' ? cost.amount : null
  return { type: 'usage', used, size, cost: isCount(dollars) ? dollars : null }
}

const statuses: readonly unknown[] = ['pending', 'in_progress', 'completed', 'failed']

function isStatus(value: Json | undefined): value is NonNullable<CallChange['status']> {
  return statuses.includes(value)
}

function isThere(value: Json | undefined): value is Json {
  return value !== undefined && value !== null
}

function isCount(value: Json | undefined): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}

function textOrNull(value: Json | undefined): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}
