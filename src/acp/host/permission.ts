import type { Json, JsonObject } from '../../core/json.ts'
import { isObject } from '../wire/is-object.ts'

/** What an agent may be told when it asks for a permission. */
export interface PermissionOption {
  readonly optionId: string
  readonly name: string
  /** `allow_once`, `allow_always`, `reject_once`, `reject_always`. */
  readonly kind: string
}

/** An agent asks before it does something. */
export interface PermissionRequest {
  readonly sessionId: string
  /** For people: `Run npm test`. */
  readonly title: string
  /** The tool's own input, where the agent shows it. */
  readonly input: Json
  readonly options: readonly PermissionOption[]
}

/** The id of the option that was chosen; null if nobody wants to choose. */
export type AskPermission = (request: PermissionRequest, signal: AbortSignal) => Promise<string | null>

/** Nobody is there to be asked: nothing is allowed. */
export const refusePermission: AskPermission = async ({ options }) =>
  options.find(({ kind }) => kind === 'reject_once')?.optionId ?? null

export function parsePermission(params: JsonObject): PermissionRequest {
  const call = isObject(params.toolCall) ? params.toolCall : {}
  const options = Array.isArray(params.options) ? params.options.filter(isObject) : []
  return {
    sessionId: String(params.sessionId),
    title: typeof call.title === 'string' ? call.title : String(call.kind ?? 'something'),
    input: call.rawInput ?? null,
    options: options.map(({ optionId, name, kind }) => ({
      optionId: String(optionId),
      name: String(name ?? optionId),
      kind: String(kind ?? ''),
    })),
  }
}

/** What was chosen, as people and listeners are told. */
export function permissionChoice(
  { title, options }: PermissionRequest,
  optionId: string | null,
): { readonly title: string; readonly choice: string | null; readonly isAllowed: boolean } {
  const option = options.find(one => one.optionId === optionId)
  return { title, choice: option?.name ?? null, isAllowed: option?.kind.startsWith('allow') ?? false }
}

/** Whatever is asked for is allowed: for this time where that is offered. */
export const allowPermission: AskPermission = async ({ options }) =>
  (options.find(({ kind }) => kind === 'allow_once') ?? options.find(({ kind }) => kind === 'allow_always'))
    ?.optionId ?? null

export function permissionAnswer(optionId: string | null): JsonObject {
  return { outcome: optionId === null ? { outcome: 'cancelled' } : { outcome: 'selected', optionId } }
}
