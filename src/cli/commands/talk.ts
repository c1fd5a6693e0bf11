import type { Command } from '../command.ts'

export const talkCommands: readonly Command[] = []
