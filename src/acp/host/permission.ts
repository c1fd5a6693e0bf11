import type { CallPreview } from '../../core/approval.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { isObject } from '../wire/is-object.ts'

/** An answer that an agent offers with a permission request. */
export interface PermissionOption {
  /** The agent's id of the option. */
  readonly optionId: string
  /** For people: `Allow once`. */
  readonly name: string
  /** `allow_once`, `allow_always`, `reject_once`, `reject_always`. */
  readonly kind: string
}

/** An agent's request for permission. */
export interface PermissionRequest {
  /** The agent's session id. */
  readonly sessionId: string
  /** For people: `Run npm test`. */
  readonly title: string
  /** The tool's input, if the agent sends it. */
  readonly input: Json
  /** The change that the call makes, if the agent sends it. Otherwise null. */
  readonly preview: CallPreview | null
  /** The answers to choose from. */
  readonly options: readonly PermissionOption[]
}

/** Returns the id of the chosen option; null to cancel the request. */
export type AskPermission = (request: PermissionRequest, signal: AbortSignal) => Promise<string | null>

/** Refuses every request. */
export const refusePermission: AskPermission = async ({ options }) =>
  options.find(({ kind }) => kind === 'reject_once')?.optionId ?? null

export function parsePermission(params: JsonObject): PermissionRequest {
  const call = isObject(params.toolCall) ? params.toolCall : {}
  const options = Array.isArray(params.options) ? params.options.filter(isObject) : []
  return {
    sessionId: String(params.sessionId),
    title: typeof call.title === 'string' ? call.title : String(call.kind ?? 'something'),
    input: call.rawInput ?? null,
    preview: previewOf(call),
    options: options.map(({ optionId, name, kind }) => ({
      optionId: String(optionId),
      name: String(name ?? optionId),
      kind: String(kind ?? ''),
    })),
  }
}

function previewOf({ content }: JsonObject): CallPreview | null {
  const diff = Array.isArray(content) ? content.filter(isObject).find(({ type }) => type === 'diff') : null
  if (!diff || typeof diff.path !== 'string' || typeof diff.newText !== 'string') return null
  const oldText = typeof diff.oldText === 'string' ? diff.oldText : null
  return { type: 'diff', path: diff.path, oldText, newText: diff.newText }
}

/** The choice, as it is shown and emitted. */
export function permissionChoice(
  { title, options }: PermissionRequest,
  optionId: string | null,
): { readonly title: string; readonly choice: string | null; readonly isAllowed: boolean } {
  const option = options.find(one => one.optionId === optionId)
  return { title, choice: option?.name ?? null, isAllowed: option?.kind.startsWith('allow') ?? false }
}

/** Allows every request; once, if the agent offers that. */
export const allowPermission: AskPermission = async ({ options }) =>
  (options.find(({ kind }) => kind === 'allow_once') ?? options.find(({ kind }) => kind === 'allow_always'))
    ?.optionId ?? null

export function permissionAnswer(optionId: string | null): JsonObject {
  return { outcome: optionId === null ? { outcome: 'cancelled' } : { outcome: 'selected', optionId } }
}
