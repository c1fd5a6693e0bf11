import type { Command } from '../command-line/command.ts'

const file = {
  user: { help: 'in your own file, ~/.config/skein/skein.yaml' },
  project: { help: 'in the skein.yaml of this project; made here if there is none' },
} as const

/** The commands of `skein config`. */
export const configCommands: readonly Command[] = [
  {
    name: 'config',
    group: 'Set up',
    summary: 'say in words which model, store and settings are used, and where they come from',
    arguments: [],
    options: { all: { help: 'every setting, also those with their default' } },
    examples: [
      ['skein config', 'what you have changed, and what it means; keys are never shown'],
      ['skein config --all', 'every setting with its value and its source'],
      ['skein config set model sonnet', 'change one'],
    ],
    load: async () => (await import('../set-up/config/config.ts')).configCommand,
  },
  {
    name: 'config get',
    group: 'Set up',
    summary: 'print the value of a setting, what it means and where it is set',
    arguments: [{ name: 'setting' }],
    options: {},
    examples: [
      ['skein config get conversation.max_tokens', 'its value, and what it does'],
      ['skein config get server', 'all settings of a section'],
      ['skein config get model --json', 'with its source, for machines'],
    ],
    load: async () => (await import('../set-up/config/change-setting.ts')).configGetCommand,
  },
  {
    name: 'config set',
    group: 'Set up',
    summary: 'change one setting in skein.yaml; comments and everything else stay',
    arguments: [{ name: 'setting' }, { name: 'value' }],
    options: file,
    examples: [
      ['skein config set model sonnet', 'in your own file, unless the project’s file already sets it'],
      ['skein config set conversation.max_age 30d --project', 'for everyone who works on this project'],
      ['skein config set tools.allow run_tests,lint', 'a list'],
      ['skein config set models.fast google/gemini-3.5-flash', 'an alias: skein -m fast "…"'],
    ],
    load: async () => (await import('../set-up/config/change-setting.ts')).configSetCommand,
  },
  {
    name: 'config unset',
    group: 'Set up',
    summary: 'remove a setting from skein.yaml, so that it has its default again',
    arguments: [{ name: 'setting' }],
    options: file,
    examples: [
      ['skein config unset model', 'the model is chosen by which key is set'],
      ['skein config unset mcp.files --user', 'a whole member of a section'],
    ],
    load: async () => (await import('../set-up/config/change-setting.ts')).configUnsetCommand,
  },
  {
    name: 'config edit',
    group: 'Set up',
    summary: 'open skein.yaml in your editor ($VISUAL, $EDITOR), and check it afterwards',
    arguments: [],
    options: file,
    noJson: true,
    examples: [
      ['skein config edit', 'your own file'],
      ['skein config edit --project', 'the file of this project'],
    ],
    load: async () => (await import('../set-up/config/edit.ts')).configEditCommand,
  },
  {
    name: 'config models',
    group: 'Set up',
    summary: 'list short names of models, and which of them lack a key',
    arguments: [],
    options: {},
    examples: [
      ['skein config models', '* is the one that is asked'],
      ['skein config models --json', 'for machines'],
    ],
    load: async () => (await import('../set-up/config/show-models.ts')).configModelsCommand,
  },
  {
    name: 'config keys',
    group: 'Set up',
    summary: 'store API keys for yourself; they are never printed',
    arguments: [
      { name: 'ls|set|rm', optional: true },
      { name: 'provider', optional: true },
    ],
    options: {},
    examples: [
      ['skein config keys set anthropic', 'asks for the key, without showing it'],
      ['pass show openai | skein config keys set openai', 'from another program'],
      ['skein config keys', 'which are set, and where'],
      ['skein config keys rm openai', 'remove the stored key'],
    ],
    load: async () => (await import('../set-up/config/keys.ts')).configKeysCommand,
  },
  {
    name: 'config trust',
    group: 'Set up',
    summary: 'let the skein.yaml of this project start its MCP servers and agents, until it changes',
    arguments: [
      { name: 'ls|rm', optional: true },
      { name: 'file', optional: true },
    ],
    options: {},
    examples: [
      ['skein config trust', 'prints what the file may start from now on'],
      ['skein config trust ls', 'the files that you have trusted or declined'],
      ['skein config trust rm', 'not any more'],
    ],
    load: async () => (await import('../trust/trust-command.ts')).configTrustCommand,
  },
]
