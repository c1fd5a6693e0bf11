import type { Chat } from '../state/chat-state.ts'
import { slashMode, slashSet } from './agent-commands.ts'
import { slashAttach, slashDetach } from './attach-commands.ts'
import { slashCopy } from './copy-command.ts'
import { slashEdit, slashFork, slashRetry, slashUndo } from './fork-commands.ts'
import { slashHelp, slashQuit } from './help-commands.ts'
import { slashCompact, slashExport, slashTitle } from './manage-commands.ts'
import { slashModel } from './model-command.ts'
import { slashContext, slashHistory, slashSearch, slashTree } from './read-commands.ts'
import type { SlashCommand } from './slash-command.ts'
import { slashClear, slashNew, slashResume, slashSwitch } from './switch-commands.ts'
import { slashThink } from './think-command.ts'

/** All commands of a chat, in the order of the help. */
export const slashCommands: readonly SlashCommand[] = [
  slashNew,
  slashClear,
  slashResume,
  slashSwitch,
  slashFork,
  slashRetry,
  slashEdit,
  slashUndo,
  slashAttach,
  slashDetach,
  slashCopy,
  slashHistory,
  slashTree,
  slashSearch,
  slashThink,
  slashTitle,
  slashExport,
  slashMode,
  slashModel,
  slashSet,
  slashContext,
  slashCompact,
  slashHelp(chat => commandsIn(chat)),
  slashQuit,
]

/** The commands that apply in a chat: with our own model, or with the agent of another program. */
export function commandsIn({ controller }: Chat): readonly SlashCommand[] {
  const other = controller.host ? 'our model' : 'other agent'
  return slashCommands.filter(one => one.of !== other)
}
