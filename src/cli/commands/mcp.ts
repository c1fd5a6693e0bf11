import type { Command } from '../command-line/command.ts'

export const mcpCommands: readonly Command[] = [
  {
    name: 'mcp',
    group: 'Talk',
    summary: 'give any agent that speaks MCP the conversations of this project',
    arguments: [],
    options: {
      all: { short: 'a', help: 'of every directory, not of this project alone' },
      channel: { value: '<name>', help: 'of one channel; direct messages only if named: discord:dm' },
      conversation: { value: '<id>', help: 'only this conversation' },
      'allow-write': { help: 'also offer remember and label_message' },
      agent: { value: '<name>', help: 'also offer ask: a task for this agent of your skein.yaml' },
    },
    noJson: true,
    examples: [
      ['skein mcp', 'an agent starts this: docs/mcp.md has the lines for its settings'],
      ['skein mcp --all --allow-write', 'everything, and notes for later'],
      ['skein mcp --agent reviewer', 'a tool that asks the agent reviewer'],
    ],
    load: async () => (await import('../mcp/mcp.ts')).mcpCommand,
  },
]
