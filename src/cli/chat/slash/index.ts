import { edit, fork, retry, undo } from './back.ts'
import { compact, exportHere, model, title } from './keep.ts'
import { help, quit } from './leave.ts'
import { context, history, search, tree } from './look.ts'
import type { SlashCommand } from './slash-command.ts'
import { clear, resume, startAnew, switchBranch } from './where.ts'

/** All commands of a chat, in the order of its help. */
export const slashCommands: readonly SlashCommand[] = [
  startAnew,
  clear,
  resume,
  switchBranch,
  fork,
  retry,
  edit,
  undo,
  history,
  tree,
  search,
  title,
  exportHere,
  model,
  context,
  compact,
  help,
  quit,
]
