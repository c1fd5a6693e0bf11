import { InvalidError } from '../../core/errors.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import type { ShownSettings } from '../sessions/shown-settings.ts'
import { isObject } from '../wire/is-object.ts'

/** A value that a setting can have. */
export interface AgentSettingChoice {
  /** The agent's id of the value. */
  readonly value: string
  /** For people. */
  readonly name: string
  /** What it does. Null if the agent does not say. */
  readonly description: string | null
}

/** A setting of another program's agent: its mode, its model, or another option. */
export interface AgentSetting {
  /** `mode`, `model`, or the agent's own id of the option. */
  readonly id: string
  /** For people. */
  readonly name: string
  /** What it does. Null if the agent does not say. */
  readonly description: string | null
  /** The purpose: `mode`, `model`, `thought_level` or another word. Null if the agent does not say. */
  readonly category: string | null
  /** How it is set: by `session/set_mode`, by `session/set_model`, or as an option with choices, or `on` and
   *  `off`. */
  readonly type: 'mode' | 'model' | 'select' | 'switch'
  /** The current value: the id of a choice. */
  readonly value: string
  /** The values to choose from. */
  readonly choices: readonly AgentSettingChoice[]
}

/** A slash command of an agent. A prompt that begins with `/` and its name runs it. */
export interface AgentSlashCommand {
  /** Without the slash. */
  readonly name: string
  /** What it does. */
  readonly description: string
  /** What to type after the name. Null if the command takes nothing. */
  readonly hint: string | null
}

/** What an agent offers in a conversation. */
export interface AgentOffer {
  /** Its mode, its model and its other options, with their current values. */
  readonly settings: readonly AgentSetting[]
  /** Its own slash commands. */
  readonly commands: readonly AgentSlashCommand[]
}

/** The settings of a session. Agents with options list their mode and their model there; the older lists of
 *  modes and models count only for agents without them. */
export function settingsOf(shown: ShownSettings): readonly AgentSetting[] {
  const options = objectsIn(shown.configOptions).flatMap(optionSetting)
  const has = (category: string) => options.some(one => one.category === category)
  const older = [
    ...(has('mode') ? [] : listedSetting(shown.modes, 'mode', 'availableModes', 'currentModeId', 'id')),
    ...(has('model')
      ? []
      : listedSetting(shown.models, 'model', 'availableModels', 'currentModelId', 'modelId')),
  ]
  return [...older, ...options]
}

function listedSetting(
  group: Json | undefined,
  id: 'mode' | 'model',
  listName: string,
  currentName: string,
  idName: string,
): readonly AgentSetting[] {
  if (!isObject(group) || typeof group[currentName] !== 'string') return []
  const choices = objectsIn(group[listName]).flatMap(one => choiceOf(one, idName))
  const name = id === 'mode' ? 'Mode' : 'Model'
  return [{ id, name, description: null, category: id, type: id, value: group[currentName], choices }]
}

function optionSetting(option: JsonObject): readonly AgentSetting[] {
  const { id, currentValue: current, category } = option
  if (typeof id !== 'string') return []
  const about = {
    id,
    name: textOr(option.name, id),
    description: textOr(option.description, null),
    category: textOr(category, null),
  }
  if (option.type === 'boolean')
    return [{ ...about, type: 'switch', value: current === true ? 'on' : 'off', choices: switchChoices }]
  if (typeof current !== 'string') return []
  // The choices may be in groups.
  const listed = objectsIn(option.options).flatMap(one =>
    Array.isArray(one.options) ? objectsIn(one.options) : [one],
  )
  return [
    { ...about, type: 'select', value: current, choices: listed.flatMap(one => choiceOf(one, 'value')) },
  ]
}

const switchChoices: readonly AgentSettingChoice[] = [
  { value: 'on', name: 'on', description: null },
  { value: 'off', name: 'off', description: null },
]

function choiceOf(one: JsonObject, idName: string): readonly AgentSettingChoice[] {
  const value = one[idName]
  if (typeof value !== 'string') return []
  return [{ value, name: textOr(one.name, value), description: textOr(one.description, null) }]
}

/** The setting with this id, or with this purpose: `mode` finds the option in which an agent has its modes.
 *  Throws InvalidError. */
export function settingNamed(settings: readonly AgentSetting[], name: string): AgentSetting {
  const found =
    settings.find(({ id }) => id === name) ??
    settings.find(({ category }) => category === name) ??
    settings.find(({ id }) => id.toLowerCase() === name.toLowerCase())
  if (found) return found
  const known = settings.map(({ id }) => id).join(', ')
  throw new InvalidError(
    name,
    known === '' ? 'the agent offers no settings' : `the agent has no such setting, only ${known}`,
  )
}

/** The id of a value that a person has typed: by its id, or by its name. Throws InvalidError. */
export function settingValue({ id, type, choices }: AgentSetting, typed: string): string {
  const lower = typed.toLowerCase()
  const wanted = type === 'switch' ? (switchWords[lower] ?? typed) : typed
  const found =
    choices.find(({ value }) => value === wanted) ??
    choices.find(({ value, name }) => [value.toLowerCase(), name.toLowerCase()].includes(lower))
  if (found) return found.value
  const known = choices.map(({ value }) => value)
  const shown = known.length > 12 ? [...known.slice(0, 12), '…'] : known
  throw new InvalidError(id, `there is no ${JSON.stringify(typed)}. The agent offers ${shown.join(', ')}`)
}

const switchWords: Readonly<Record<string, string>> = {
  true: 'on',
  yes: 'on',
  false: 'off',
  no: 'off',
}

/** The name of the current value, for people. */
export function settingValueName({ value, choices }: AgentSetting): string {
  return choices.find(one => one.value === value)?.name ?? value
}

/** The request that changes a setting, without the session id. */
export function settingRequest(
  { id, type }: AgentSetting,
  value: string,
): { readonly method: string; readonly params: JsonObject } {
  switch (type) {
    case 'mode':
      return { method: 'session/set_mode', params: { modeId: value } }
    case 'model':
      return { method: 'session/set_model', params: { modelId: value } }
    case 'select':
      return { method: 'session/set_config_option', params: { configId: id, value } }
    case 'switch':
      return {
        method: 'session/set_config_option',
        params: { configId: id, type: 'boolean', value: value === 'on' },
      }
    default:
      return type satisfies never
  }
}

/** The commands in an update; null if it is about something else. */
export function slashCommandsIn(update: unknown): readonly AgentSlashCommand[] | null {
  if (!isObject(update) || update.sessionUpdate !== 'available_commands_update') return null
  return objectsIn(update.availableCommands).flatMap(({ name, description, input }) => {
    if (typeof name !== 'string' || !/^\S+$/.test(name)) return []
    const hint = isObject(input) ? textOr(input.hint, '') : null
    return [{ name: name.replace(/^\//, ''), description: textOr(description, ''), hint }]
  })
}

function objectsIn(list: Json | undefined): readonly JsonObject[] {
  return Array.isArray(list) ? list.filter(isObject) : []
}

function textOr<T>(value: Json | undefined, otherwise: T): string | T {
  return typeof value === 'string' && value !== '' ? value : otherwise
}
