import type { Command } from '../command.ts'

export const setUpCommands: readonly Command[] = []
