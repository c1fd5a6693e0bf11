import type { SessionConfigOption, SessionModeState } from '@agentclientprotocol/sdk/unstable'
import type { OfferedModel } from './served.ts'

/** Whether tools are asked for before they run. */
export type Mode = 'ask' | 'auto'

const modes: Readonly<Record<Mode, { readonly name: string; readonly description: string }>> = {
  ask: { name: 'Ask', description: 'Asks for permission before a tool runs' },
  auto: { name: 'Auto', description: 'Runs tools without asking' },
}

export function isMode(text: unknown): text is Mode {
  return typeof text === 'string' && Object.hasOwn(modes, text)
}

/** What can be set in a session. */
export interface Settings {
  readonly mode: Mode
  readonly model: string
}

/** The settings as a client shows them. The mode stands in both lists: clients that know options look at no modes, and
 *  others know only those. */
export function settingsShown(
  { mode, model }: Settings,
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
