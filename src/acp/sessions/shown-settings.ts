import type { JsonObject } from '../../core/json.ts'
import { isObject } from '../wire/is-object.ts'

/** The modes, models and options of a session, as its client knows them: the agent's answer to the request
 *  that opened the session, with all changes since. */
export type ShownSettings = JsonObject

/** A request that changes a setting, without its session id. */
export interface SettingRequest {
  readonly method: string
  readonly params: JsonObject
}

/** The requests that repeat, in another session, what the agent has changed by itself. */
export function requestsOf(shown: ShownSettings, update: unknown): readonly SettingRequest[] {
  if (!isObject(update)) return []
  const { sessionUpdate, currentModeId: modeId, configOptions } = update
  if (sessionUpdate === 'current_mode_update') {
    const isNew = isObject(shown.modes) && shown.modes.currentModeId !== modeId
    return isNew && typeof modeId === 'string' ? [{ method: 'session/set_mode', params: { modeId } }] : []
  }
  if (sessionUpdate !== 'config_option_update' || !Array.isArray(configOptions)) return []
  const known = Array.isArray(shown.configOptions) ? shown.configOptions.filter(isObject) : []
  return configOptions.filter(isObject).flatMap(({ id, currentValue: value }) => {
    const before = known.find(option => option.id === id)
    if (typeof id !== 'string' || value === undefined || !before || before.currentValue === value) return []
    const type = typeof value === 'boolean' ? { type: 'boolean' } : {}
    return [{ method: 'session/set_config_option', params: { configId: id, ...type, value } }]
  })
}

/** After a request of the client that the agent has accepted. */
export function afterSetting(
  shown: ShownSettings,
  method: string,
  params: JsonObject,
  result: unknown,
): ShownSettings {
  switch (method) {
    case 'session/set_mode':
      return withCurrent(shown, 'modes', 'currentModeId', params.modeId)
    case 'session/set_model':
      return withCurrent(shown, 'models', 'currentModelId', params.modelId)
    default:
      return withOptions(shown, isObject(result) ? result : {})
  }
}

/** After an update of the agent. */
export function afterUpdate(shown: ShownSettings, update: unknown): ShownSettings {
  if (!isObject(update)) return shown
  if (update.sessionUpdate === 'current_mode_update') {
    const mode = update.currentModeId
    return withModeOption(withCurrent(shown, 'modes', 'currentModeId', mode), mode)
  }
  return update.sessionUpdate === 'config_option_update' ? withOptions(shown, update) : shown
}

function withCurrent(shown: ShownSettings, group: string, name: string, id: unknown): ShownSettings {
  const before = shown[group]
  return isObject(before) && typeof id === 'string' ? { ...shown, [group]: { ...before, [name]: id } } : shown
}

/** An agent may have the same modes as an option, and announce a change of them only once. */
function withModeOption(shown: ShownSettings, mode: unknown): ShownSettings {
  const { configOptions } = shown
  if (!Array.isArray(configOptions) || typeof mode !== 'string') return shown
  const changed = configOptions.map(option =>
    isObject(option) && option.category === 'mode' && JSON.stringify(option.options)?.includes(`"${mode}"`)
      ? { ...option, currentValue: mode }
      : option,
  )
  return { ...shown, configOptions: changed }
}

function withOptions(shown: ShownSettings, { configOptions }: JsonObject): ShownSettings {
  return Array.isArray(configOptions) ? { ...shown, configOptions } : shown
}
