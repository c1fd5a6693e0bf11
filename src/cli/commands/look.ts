import type { Command } from '../command.ts'

export const lookCommands: readonly Command[] = []
