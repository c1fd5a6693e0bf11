import type { Command } from '../command-line/command.ts'
import { acpCommands } from './acp.ts'
import { askCommands, prompt } from './ask.ts'
import { discordCommands } from './discord.ts'
import { dispatchCommands } from './dispatch.ts'
import { manageCommands } from './manage.ts'
import { mcpCommands } from './mcp.ts'
import { readCommands } from './read.ts'
import { repairCommands } from './repair.ts'
import { serveCommands } from './serve.ts'
import { completionDeclaration, setUpCommands } from './set-up.ts'
import { exportDeclaration, transferCommands } from './transfer.ts'

export { prompt }

/** All commands, in the order of the help. */
export const commands: readonly Command[] = [
  ...askCommands,
  ...acpCommands,
  ...mcpCommands,
  ...readCommands,
  exportDeclaration,
  ...manageCommands,
  ...dispatchCommands,
  ...discordCommands,
  ...repairCommands,
  ...transferCommands,
  ...serveCommands,
  ...setUpCommands,
  completionDeclaration(() => [prompt, ...commands]),
]
