import type { Command } from '../command.ts'

export const acpCommands: readonly Command[] = [
  {
    name: 'acp',
    group: 'Talk',
    summary: 'be an agent that an editor can talk with (Agent Client Protocol)',
    arguments: [{ name: 'command', optional: true, behind: true }],
    options: {
      model: { short: 'm', value: '<name>', help: 'model, unless the editor chooses another' },
      system: { value: '<text>', help: 'system prompt' },
    },
    noJson: true,
    examples: [
      ['skein acp', 'what an editor starts: docs/acp.md says how to tell it'],
      ['skein acp -m sonnet', 'with this model, until another is chosen'],
    ],
    load: async () => (await import('../acp/acp.ts')).acp,
  },
]
