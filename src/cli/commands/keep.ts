import type { Command } from '../command.ts'

export const keepCommands: readonly Command[] = []
