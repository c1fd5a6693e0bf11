import type { Command } from '../command.ts'
import { talkOptions } from './talk-options.ts'

export const talkCommands: readonly Command[] = [
  {
    name: 'chat',
    group: 'Talk',
    summary: 'talk, where this directory left off; /help lists what a chat knows',
    arguments: [],
    options: {
      ...talkOptions,
    },
    noJson: true,
    examples: [
      ['skein chat', 'go on where this directory left off'],
      ['skein chat -c q2w6nb', 'go on from a message; a branch if it was answered'],
      ['skein chat < questions.txt', 'lines in, answers out'],
    ],
    load: async () => (await import('../chat/chat.ts')).chat,
  },
  {
    name: 'resume',
    aliases: ['conversation resume'],
    group: 'Talk',
    summary: 'pick a conversation and go on with it',
    arguments: [{ name: 'id', optional: true }],
    options: {
      model: { short: 'm', value: '<name>', help: 'model; skein config models lists them' },
      force: { help: 'also a conversation of another directory' },
    },
    noJson: true,
    examples: [
      ['skein resume', 'a list to pick from; type to find'],
      ['skein resume a7xk5f', 'chat in this conversation'],
    ],
    load: async () => (await import('../chat/resume.ts')).resume,
  },
  {
    name: 'fork',
    aliases: ['conversation fork'],
    group: 'Talk',
    summary: 'go another way from any message; nothing is copied',
    arguments: [{ name: 'id' }],
    options: {
      name: { value: '<branch>', help: 'what to call the branch; main-2 and so on unless given' },
      force: { help: 'also a conversation of another directory' },
    },
    examples: [
      ['skein fork q2w6nb', 'a branch at this message'],
      ['skein fork m3x5td --name sse', 'by a name: skein -c sse "…" goes on there'],
    ],
    load: async () => (await import('../talk/fork.ts')).fork,
  },
]
