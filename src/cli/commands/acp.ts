import type { Command } from '../command.ts'

export const acpCommands: readonly Command[] = [
  {
    name: 'acp',
    group: 'Talk',
    summary: 'give an editor’s agent a memory, or be its agent (Agent Client Protocol)',
    arguments: [{ name: 'command', optional: true, behind: true }],
    options: {
      model: { short: 'm', value: '<name>', help: 'model, unless the editor chooses another' },
      system: { value: '<text>', help: 'system prompt' },
      name: { value: '<name>', help: 'what another agent is remembered as; its command’s name unless given' },
    },
    noJson: true,
    examples: [
      ['skein acp -- copilot --acp --stdio', 'between an editor and this agent, which never forgets'],
      ['skein acp', 'our own agent: docs/acp.md says how to tell an editor'],
      ['skein acp -m sonnet', 'with this model, until another is chosen'],
    ],
    load: async () => (await import('../acp/acp.ts')).acp,
  },
]
