import type { Command } from '../command.ts'

export const mendCommands: readonly Command[] = [
  {
    name: 'verify',
    aliases: ['conversation verify', 'sessions verify'],
    group: 'Keep',
    summary: 'check that everything is as it was stored',
    arguments: [{ name: 'id', optional: true, many: true }],
    options: { quick: { help: 'only the newest 1,000 messages' } },
    examples: [
      ['skein verify', 'every word, every place, every blob, the trash included'],
      ['skein verify a7xk5f', 'one conversation'],
    ],
    load: async () => (await import('../mend/verify.ts')).verify,
  },
]
