import { errorText } from '../../core/error-text.ts'
import type { ConversationId } from '../../core/ids.ts'
import type { MessageReader } from '../../core/ports.ts'
import type { TurnWriter } from '../../core/turn-writer.ts'
import type { RunningAgent } from '../process/agent-process-slot.ts'
import { afterSetting, afterUpdate, type ShownSettings } from '../sessions/shown-settings.ts'
import { isObject } from '../wire/is-object.ts'
import { ConnectionEnded } from '../wire/rpc-error.ts'
import {
  type AgentOffer,
  type AgentSetting,
  settingNamed,
  settingRequest,
  settingsOf,
  settingValue,
  slashCommandsIn,
} from './agent-settings.ts'

/** A setting that has changed, or that could not be set again. */
export interface SettingChange {
  /** The setting, with its new value. */
  readonly setting: AgentSetting
  /** Why the value that was chosen before could not be set in a new process of the agent. Null if it was. */
  readonly problem: string | null
}

/** The values that were chosen in a conversation, by the ids of their settings. */
export type ChosenSettings = Map<string, string>

export interface HostSettingsOptions {
  /** Chosen by the caller: it is an error if they cannot be set. */
  readonly wanted: Readonly<Record<string, string>>
  /** Chosen earlier in this conversation. */
  readonly chosen: ChosenSettings
  /** The agent has changed a setting, or an earlier choice cannot be set. */
  onChange(change: SettingChange): void
  /** The choices have changed, and have to be stored. */
  onChosen(): void
}

/** The settings and commands of the agent's current session in one conversation. */
export interface HostSettings {
  readonly offer: AgentOffer
  readonly chosen: ChosenSettings
  /** A session was opened: sets what was chosen before. Throws if a wanted setting cannot be set. */
  opened(agent: RunningAgent, sessionId: string, answer: ShownSettings): Promise<void>
  /** Changes a setting in the open session. */
  set(name: string, value: string): Promise<void>
  hear(update: unknown): void
  /** Resolves when the agent has sent its commands, or has had the time to. Agents send them shortly after
   *  they have opened a session. */
  commandsKnown(): Promise<void>
  /** The process has ended. */
  closed(): void
}

/** How long an agent may take to send its commands. */
const commandsMs = 500

export function createHostSettings(options: HostSettingsOptions): HostSettings {
  const { chosen, onChange, onChosen } = options
  const wanted = new Map(Object.entries(options.wanted))
  let shown: ShownSettings = {}
  let commands: AgentOffer['commands'] = []
  let hasCommands = Promise.withResolvers<void>()
  let open: { readonly agent: RunningAgent; readonly sessionId: string } | null = null
  /** The change that is requested now: an update about it is not the agent's own change. */
  let requested: { readonly id: string; readonly value: string } | null = null

  async function request(setting: AgentSetting, value: string): Promise<void> {
    if (!open) throw new ConnectionEnded('the agent has ended')
    const { method, params } = settingRequest(setting, value)
    const { agent, sessionId } = open
    requested = { id: setting.id, value }
    try {
      const result = await agent.request(method, { ...params, sessionId })
      shown = afterSetting(shown, method, params, result)
    } finally {
      requested = null
    }
  }

  /** Sets what the caller wants. These are choices of the conversation from now on. */
  async function setWanted(): Promise<void> {
    for (const [name, typed] of wanted) {
      const setting = settingNamed(settingsOf(shown), name)
      const value = settingValue(setting, typed)
      if (setting.value !== value) await request(setting, value)
      chosen.set(setting.id, value)
      wanted.delete(name)
      onChosen()
    }
  }

  /** `reported` are the settings that the agent has sent with the session. It may have left out some. */
  async function setAgain(reported: readonly AgentSetting[]): Promise<void> {
    for (const [id, value] of chosen) {
      const now = reported.find(one => one.id === id)
      const setting = now ?? settingsOf(shown).find(one => one.id === id) ?? unlistedSetting(id)
      if (!setting || now?.value === value) continue
      try {
        await request(setting, setting.choices.length === 0 ? value : settingValue(setting, value))
      } catch (error) {
        onChange({ setting: { ...setting, value }, problem: errorText(error) })
      }
    }
  }

  return {
    get offer() {
      return { settings: settingsOf(shown), commands }
    },
    chosen,
    async opened(agent, sessionId, answer) {
      open = { agent, sessionId }
      // The answer to a resume may leave out what has not changed.
      const { modes, models, configOptions } = answer
      const reported = {
        ...(isObject(modes) && { modes }),
        ...(isObject(models) && { models }),
        ...(Array.isArray(configOptions) && { configOptions }),
      }
      shown = { ...shown, ...reported }
      setTimeout(hasCommands.resolve, commandsMs).unref()
      await setAgain(settingsOf(reported))
      await setWanted()
    },
    async set(name, typed) {
      const setting = settingNamed(settingsOf(shown), name)
      const value = settingValue(setting, typed)
      await request(setting, value)
      chosen.set(setting.id, value)
      onChosen()
    },
    hear(update) {
      const heard = slashCommandsIn(update)
      if (heard) {
        commands = heard
        hasCommands.resolve()
        return
      }
      const before = settingsOf(shown)
      const next = afterUpdate(shown, update)
      if (next === shown) return
      shown = next
      for (const setting of settingsOf(shown)) {
        const was = before.find(({ id }) => id === setting.id)
        if (!was || was.value === setting.value) continue
        const isRequested = requested?.id === setting.id && requested.value === setting.value
        if (isRequested || chosen.get(setting.id) === setting.value) continue
        chosen.set(setting.id, setting.value)
        onChosen()
        onChange({ setting, problem: null })
      }
    },
    commandsKnown: () => hasCommands.promise,
    closed() {
      open = null
      hasCommands = Promise.withResolvers()
    },
  }
}

/** A setting that the agent does not list in a session that it has reopened. */
function unlistedSetting(id: string): AgentSetting | null {
  if (id !== 'mode' && id !== 'model') return null
  return { id, name: id, description: null, category: id, type: id, value: '', choices: [] }
}

/** Reads the choices of a conversation for one agent. */
export async function readChosen(
  store: Pick<MessageReader, 'listEvents'>,
  id: ConversationId,
  agent: string,
): Promise<ChosenSettings> {
  const { items } = await store.listEvents(id, { types: ['agent_settings'], order: 'descending', limit: 50 })
  const stored = items.find(({ data }) => data.agent === agent)?.data.settings
  const chosen = isObject(stored) ? Object.entries(stored) : []
  return new Map(chosen.filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
}

/** Stores them. */
export async function writeChosen(
  store: Pick<TurnWriter, 'addEvents'>,
  id: ConversationId,
  agent: string,
  chosen: ChosenSettings,
): Promise<void> {
  const data = { agent, settings: Object.fromEntries(chosen) }
  await store.addEvents(id, [{ type: 'agent_settings', data }])
}
