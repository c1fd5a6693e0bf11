import type { Command, CommandOption } from '../command-line/command.ts'
import { underNouns } from './under-nouns.ts'

const modelOption: CommandOption = {
  short: 'o',
  value: '<name=value>',
  many: true,
  help: 'option of the model for this run, such as temperature=0.2',
}

const attachOption: CommandOption = {
  short: 'a',
  value: '<file>',
  many: true,
  help: 'send a file along: text, a picture, a PDF',
}

/** What the model may do. */
const toolOptions: Readonly<Record<string, CommandOption>> = {
  tools: { help: 'let the model read, search and change files of the project and run commands; asks first' },
  allow: {
    value: '<tools>',
    many: true,
    help: 'run these tools without asking, such as edit_file,run_command; all for every tool',
  },
}

/** Options that choose the conversation and the model, for a prompt and for a chat. */
const talkOptions: Readonly<Record<string, CommandOption>> = {
  continue: { short: 'c', value: '[id]', help: 'continue a conversation, a branch, or from a message' },
  new: { short: 'n', help: 'start a new conversation' },
  incognito: { short: 'G', help: 'open nothing, keep nothing' },
  session: { value: '<name>', help: 'a named conversation (key cli:<name>)' },
  resume: { value: '<id>', help: 'continue exactly this conversation' },
  model: { short: 'm', value: '<model>', help: 'model, from now on; skein config models lists them' },
  system: { value: '<text>', help: 'system prompt of the conversation, from now on; "" removes it' },
  option: modelOption,
  attach: attachOption,
  force: { help: 'also a conversation of another project' },
  ...toolOptions,
}

/** `skein [prompt…]`: the command without a name. */
export const prompt: Command = {
  name: '',
  aliases: ['ask'],
  group: 'Talk',
  summary: 'ask, and continue where this project left off',
  arguments: [{ name: 'prompt', optional: true, many: true }],
  options: {
    ...talkOptions,
    'with-context': {
      value: '[query]',
      help: 'with -n: also send what earlier conversations say about the prompt, or about a query before it',
    },
  },
  examples: [
    ['skein "why is the build red?"', 'ask; continues where this project left off'],
    ['skein -n "something else"', 'start a new conversation'],
    ['skein -a shot.png "what is wrong here?"', 'send a file along'],
    [
      'skein --tools --allow edit_file "fix the typo in a.md"',
      'it may edit; commands are refused in a script',
    ],
    ['skein', 'chat, where you left off'],
    ['skein search "secure context"', 'find anything said by you, models or tools'],
    ['skein fork q2w6nb', 'go another way from any message'],
  ],
  load: async () => (await import('../ask/ask.ts')).askCommand,
}

export const askCommands: readonly Command[] = [
  {
    name: 'chat',
    group: 'Talk',
    summary: 'talk, where this project left off; /help lists what a chat knows',
    arguments: [],
    options: talkOptions,
    noJson: true,
    examples: [
      ['skein chat', 'continue where this project left off'],
      ['skein chat --tools', 'with tools for the files of the project; asks before it changes something'],
      ['skein chat -a notes.md', 'with a file; @path and /attach send more of them'],
      ['skein chat -c q2w6nb', 'continue from a message; a branch if it was answered'],
      ['skein chat < questions.txt', 'lines in, answers out'],
    ],
    load: async () => (await import('../chat/chat.ts')).chatCommand,
  },
  {
    name: 'resume',
    aliases: underNouns('resume'),
    group: 'Talk',
    summary: 'pick a conversation and continue it',
    arguments: [{ name: 'id', optional: true }],
    options: {
      model: { short: 'm', value: '<model>', help: 'model, from now on; skein config models lists them' },
      option: modelOption,
      attach: attachOption,
      force: { help: 'also a conversation of another project' },
      ...toolOptions,
    },
    noJson: true,
    examples: [
      ['skein resume', 'a list to pick from; type to find'],
      ['skein resume a7xk5f', 'chat in this conversation'],
    ],
    load: async () => (await import('../chat/chat.ts')).resumeCommand,
  },
  {
    name: 'fork',
    aliases: underNouns('fork'),
    group: 'Talk',
    summary: 'go another way from any message; nothing is copied',
    arguments: [{ name: 'id' }],
    options: {
      name: { value: '<branch>', help: 'name of the branch; default main-2, main-3 …' },
      force: { help: 'also a conversation of another project' },
    },
    examples: [
      ['skein fork q2w6nb', 'a branch at this message'],
      ['skein fork m3x5td --name sse', 'by a name: skein -c sse "…" continues there'],
    ],
    load: async () => (await import('../manage/fork.ts')).forkCommand,
  },
]
