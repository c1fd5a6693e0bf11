import type { Command } from '../command.ts'

export const talkCommands: readonly Command[] = [
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
      ['skein fork m3x5td --name sse', 'the same, by a name: skein -c sse "…" goes on there'],
    ],
    load: async () => (await import('../talk/fork.ts')).fork,
  },
]
