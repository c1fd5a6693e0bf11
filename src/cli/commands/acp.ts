import type { Command } from '../command-line/command.ts'

export const acpCommands: readonly Command[] = [
  {
    name: 'acp',
    group: 'Talk',
    summary: 'give an editor’s agent a memory, or be its agent (Agent Client Protocol)',
    arguments: [{ name: 'command', optional: true, behind: true }],
    options: {
      model: { short: 'm', value: '<model>', help: 'model, unless the editor chooses another' },
      system: { value: '<text>', help: 'system prompt' },
      name: {
        value: '<name>',
        help: 'the name that another agent’s conversations are stored under; default: its command’s name',
      },
      tell: {
        value: '<tokens>',
        help: 'most tokens that another agent is told where it knows nothing; 24000',
      },
    },
    noJson: true,
    examples: [
      ['skein acp -- copilot --acp --stdio', 'between an editor and this agent, which never forgets'],
      ['skein acp', 'our own agent: docs/acp.md says how to tell an editor'],
      ['skein acp -m sonnet', 'with this model, until another is chosen'],
    ],
    load: async () => (await import('../acp/acp.ts')).acpCommand,
  },
  {
    name: 'agent',
    group: 'Talk',
    summary: 'chat with any agent that speaks ACP; what it forgets, it is told',
    arguments: [{ name: 'command', behind: true }],
    options: {
      continue: { short: 'c', value: '[id]', help: 'continue a conversation, a branch, or from a message' },
      new: { short: 'n', help: 'start a new conversation' },
      session: { value: '<name>', help: 'a named conversation (key cli:<name>)' },
      resume: { value: '<id>', help: 'continue exactly this conversation' },
      force: { help: 'also a conversation of another project' },
      system: { value: '<text>', help: 'system prompt, which the agent gets before everything else' },
      name: {
        value: '<name>',
        help: 'the name that the agent’s conversations are stored under; default: its command’s name',
      },
      mode: { value: '<name>', help: 'mode of the agent, from now on, such as plan' },
      model: { short: 'm', value: '<name>', help: 'model of the agent, from now on' },
      set: { value: '<name=value>', many: true, help: 'another option of the agent; /set lists them' },
      attach: { short: 'a', value: '<file>', many: true, help: 'send a file with the first message' },
      'add-dir': { value: '<path>', many: true, help: 'a further directory of the project' },
      tell: { value: '<tokens>', help: 'most tokens that it is told where it knows nothing; 24000' },
      allow: { help: 'allow everything that the agent asks for in the project' },
    },
    noJson: true,
    examples: [
      ['skein agent -- copilot --acp --stdio', 'continue where this project left off'],
      ['skein agent --resume a7xk5f -- opencode acp', 'with what began in another agent'],
      ['skein agent --mode plan -m opus -- claude-agent-acp', 'in this mode, with this model'],
      ['skein agent -n --allow -- codex-acp < task.txt', 'lines in, answers out; it may do anything'],
    ],
    load: async () => (await import('../agent/agent.ts')).agentCommand,
  },
]
