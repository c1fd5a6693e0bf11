import type { SessionConfigOption, SessionModeState } from '@agentclientprotocol/sdk/unstable'
import type { OfferedModel } from './serve-options.ts'

/** Whether tools need a permission before they run. */
export type SessionMode = 'ask' | 'auto'

const modes: Readonly<Record<SessionMode, { readonly name: string; readonly description: string }>> = {
  ask: { name: 'Ask', description: 'Asks for permission before a tool runs' },
  auto: { name: 'Auto', description: 'Runs tools without asking' },
}

export function isSessionMode(text: unknown): text is SessionMode {
  return typeof text === 'string' && Object.hasOwn(modes, text)
}

/** The settings of a session. */
export interface SessionSettings {
  readonly mode: SessionMode
  readonly model: string
}

/** The settings for the client. The mode is in both lists: clients that support options ignore modes, and
 *  others know only modes. */
export function settingsForClient(
  { mode, model }: SessionSettings,
  models: readonly OfferedModel[],
): { modes: SessionModeState; configOptions: SessionConfigOption[] } {
  const listed = Object.entries(modes)
  return {
    modes: {
      currentModeId: mode,
      availableModes: listed.map(([id, about]) => ({ id, ...about })),
    },
    configOptions: [
      {
        id: 'mode',
        name: 'Mode',
        description: 'Whether tools are asked for before they run',
        category: 'mode',
        type: 'select',
        currentValue: mode,
        options: listed.map(([value, about]) => ({ value, ...about })),
      },
      {
        id: 'model',
        name: 'Model',
        description: 'Who answers',
        category: 'model',
        type: 'select',
        currentValue: model,
        options: models.map(({ id, name }) => ({
          value: id,
          name,
          ...(name === id ? {} : { description: id }),
        })),
      },
    ],
  }
}
