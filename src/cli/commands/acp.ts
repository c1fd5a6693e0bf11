import type { Command } from '../command-line/command.ts'

export const acpCommands: readonly Command[] = [
  {
    name: 'acp',
    group: 'Talk',
    summary: 'give an editor’s agent a memory, or be its agent (Agent Client Protocol)',
    arguments: [
      { name: 'agent', optional: true },
      { name: 'command', optional: true, behind: true },
    ],
    options: {
      model: { short: 'm', value: '<model>', help: 'model, unless the editor chooses another' },
      system: { value: '<text>', help: 'system prompt' },
      name: {
        value: '<name>',
        help: 'the name that another agent’s conversations are stored under; default: the name, or the command’s',
      },
      tell: {
        value: '<tokens>',
        help: 'most tokens that another agent is told where it knows nothing; 24000',
      },
    },
    noJson: true,
    examples: [
      ['skein acp claude', 'between an editor and this agent, which never forgets; skein agents lists more'],
      ['skein acp -- my-agent --acp', 'any other agent, by its command'],
      ['skein acp', 'our own agent: docs/acp.md says how to tell an editor'],
      ['skein acp -m sonnet', 'with this model, until another is chosen'],
    ],
    load: async () => (await import('../acp/acp.ts')).acpCommand,
  },
  {
    name: 'agent',
    group: 'Talk',
    summary: 'chat with any agent that speaks ACP; what it forgets, it is told',
    arguments: [
      { name: 'agent', optional: true },
      { name: 'command', optional: true, behind: true },
    ],
    options: {
      continue: { short: 'c', value: '[id]', help: 'continue a conversation, a branch, or from a message' },
      new: { short: 'n', help: 'start a new conversation' },
      session: { value: '<name>', help: 'a named conversation (key cli:<name>)' },
      resume: { value: '<id>', help: 'continue exactly this conversation' },
      force: { help: 'also a conversation of another project' },
      system: { value: '<text>', help: 'system prompt, which the agent gets before everything else' },
      name: {
        value: '<name>',
        help: 'the name that the agent’s conversations are stored under; default: the name, or the command’s',
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
      ['skein agent copilot', 'continue where this project left off; skein agents lists the names'],
      ['skein agent opencode --resume a7xk5f', 'with what began in another agent'],
      ['skein agent claude --mode plan -m opus', 'in this mode, with this model'],
      ['skein agent -n --allow -- my-agent --acp < task.txt', 'any command; lines in, answers out'],
    ],
    load: async () => (await import('../agent/agent.ts')).agentCommand,
  },
  {
    name: 'agents',
    group: 'Talk',
    summary: 'list the agents that skein agent and skein acp know by name, and which are installed',
    arguments: [],
    options: {},
    examples: [
      ['skein agents', 'those of your skein.yaml, and those that need no entry'],
      ['skein agents --json=name,installed,install', 'for machines, and how to install them'],
    ],
    load: async () => (await import('../agent/agents.ts')).agentsCommand,
  },
]
