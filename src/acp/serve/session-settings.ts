import type { SessionConfigOption, SessionModeState } from '@agentclientprotocol/sdk/unstable'
import type { ApprovalRequest } from '../../core/approval.ts'
import type { OfferedModel } from './serve-options.ts'

/** Which tools need a permission before they run. */
export type SessionMode = 'ask' | 'edits' | 'auto' | 'read'

const modes: Readonly<Record<SessionMode, { readonly name: string; readonly description: string }>> = {
  ask: { name: 'Ask', description: 'Asks before a tool changes something or runs a command' },
  edits: { name: 'Accept edits', description: 'Changes files of the project without asking' },
  auto: { name: 'Auto', description: 'Runs tools and commands in the project without asking' },
  read: { name: 'Read only', description: 'Changes nothing and runs no command' },
}

/** Whether a mode allows a call without asking. A call with a reason is asked for in every mode. */
export function allowsByMode(mode: SessionMode, { kind, reason }: ApprovalRequest): boolean {
  if (reason !== null) return false
  return mode === 'auto' || (mode === 'edits' && kind === 'edit')
}

/** The modes, for an error message. */
export const modeNames: string = Object.keys(modes).join(', ')

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
        description: 'Which tools are asked for before they run',
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
