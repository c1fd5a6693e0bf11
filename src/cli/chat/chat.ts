import { createInterface } from 'node:readline'
import type { MediaBlock } from '../../core/block.ts'
import { NotFoundError } from '../../core/errors.ts'
import { createSavingNotes } from '../answer/saving-notes.ts'
import { waitUntilSaved } from '../answer/wait-until-saved.ts'
import { attachFiles } from '../attach/attach-file.ts'
import {
  type Args,
  type CommandHandler,
  hasOption,
  textOption,
  textOptions,
} from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { demoLines } from '../model/demo-notes.ts'
import { type ModelSetup, openModelSetup } from '../model/model-setup.ts'
import { noteLine } from '../output/print.ts'
import { wrapForTerminal } from '../output/wrap.ts'
import { newStorePath } from '../store/store-location.ts'
import { type ChosenConversation, chooseConversation, chooseNamed } from '../target/choose-conversation.ts'
import { findNamed } from '../target/find-named.ts'
import { projectFolder } from '../target/scope.ts'
import { chatOnTerminal } from './chat-on-terminal.ts'
import { inputHistoryFile, openInputHistory } from './input/input-history.ts'
import { openKeyboard } from './input/keyboard.ts'
import { runSlash } from './slash/run-slash.ts'
import { messageWithFiles } from './state/attached-files.ts'
import { createChatController } from './state/chat-controller.ts'
import type { Chat } from './state/chat-state.ts'
import { pickConversation } from './state/pick-conversation.ts'
import { printHeader } from './state/print-header.ts'
import { printLeaving } from './state/print-leaving.ts'
import { takeTurn } from './take-turn.ts'

/** `skein chat`: runs turns until the user leaves. */
export const chatCommand: CommandHandler = async (args, context) => {
  if (context.json) throw new UsageError('chat has no --json', 'One answer as JSON: skein ask --json "…"')
  const files = await attachedTo(args, context)
  const keptIn = hasOption(args, 'incognito') ? null : newStorePath(context)
  // Before the store is created: a wrong name or a missing key must leave nothing behind.
  const early = keptIn === null ? null : await openModelSetup(args, context)
  const chosen = await chooseConversation(args, context)
  const setup = early ?? (await openModelSetup(args, context, chosen.status?.conversation))
  if (chosen.prompt !== null) throw new NotFoundError('id', chosen.prompt)
  return startChat(chosen, context, {
    setup,
    keptIn,
    files,
    name: textOption(args, 'session') ?? null,
  })
}

/** The files after `-a`. */
export function attachedTo(args: Args, context: CommandContext): Promise<readonly MediaBlock[]> {
  return attachFiles(textOptions(args, 'attach'), context)
}

export interface ChatOptions {
  readonly setup: ModelSetup
  /** The path of a store that does not exist yet; null otherwise. */
  readonly keptIn?: string | null
  /** The name after `--session`; null without the flag. */
  readonly name: string | null
  /** Files that go with the first message. Default: none. */
  readonly files?: readonly MediaBlock[]
  /** The command that continues a conversation. Default: `skein -c <id>`. */
  continueWith?(id: string): string
  /** Called before the first turn. */
  onChat?(chat: Chat): void
}

/** Runs a chat in the chosen conversation. Returns the exit code. */
export async function startChat(
  chosen: ChosenConversation,
  context: CommandContext,
  options: ChatOptions,
): Promise<number> {
  const { err, quiet } = context
  const { setup } = options
  const isIncognito = chosen.how === 'incognito'
  const say = (line: string) => {
    if (!quiet) err.line(wrapForTerminal(line, err))
  }
  const store = isIncognito ? null : await context.store()
  const controller = createChatController({ context, store, chosen, setup })
  // Opened first, so that keys typed ahead are read in raw mode.
  const keyboard = context.canAsk ? openKeyboard(context, err) : null
  if (keyboard) setup.options.approval?.useKeyboard(keyboard)
  const parts: Chat = {
    context,
    controller,
    keyboard,
    history: openInputHistory(
      isIncognito || !keyboard ? null : inputHistoryFile(context.env),
      projectFolder(context.cwd, context.env),
    ),
    name: options.name,
    seen: null,
    attached: options.files ?? [],
    hasSpoken: false,
    lastText: '',
    saving: createSavingNotes(store, context),
    later: [],
    say,
    note: text => say(noteLine(text, err)),
  }
  options.onChat?.(parts)
  try {
    let isSaved = false
    let code: number = exitCode.interrupted
    try {
      if (setup.choice.from === 'nothing' && !quiet)
        for (const line of demoLines(context, { isIncognito })) say(line)
      printHeader(chosen, context, options.keptIn)
      code = await (keyboard ? chatOnTerminal(parts, keyboard, chosen) : chatInLines(parts))
    } catch (error) {
      if (!context.signal.aborted) throw error
    } finally {
      // However the chat has ended: words that are not in the store exist nowhere else.
      keyboard?.close()
      isSaved = await waitUntilSaved(store, context, parts.saving)
    }
    if (!isSaved) return exitCode.failure
    if (keyboard) await printLeaving(parts, options.continueWith)
    return code
  } finally {
    await controller.close()
  }
}

/** Reads lines and prints answers until the input ends. Without a user to ask, a busy branch is forked. A
 *  failed line does not stop the next one, but sets the exit code. */
async function chatInLines(chat: Chat): Promise<number> {
  const { context } = chat
  let code: number = exitCode.ok
  const lines = createInterface({
    input: context.stdin,
    crlfDelay: Number.POSITIVE_INFINITY,
    terminal: false,
  })
  const stop = () => lines.close()
  context.signal.addEventListener('abort', stop)
  try {
    for await (const line of lines) {
      if (context.signal.aborted) break
      if (line.trim() === '') continue
      const done = await runSlash(chat, line)
      if (done.type === 'leave') break
      if (done.type !== 'send' && done.type !== 'answer') {
        if (done.type === 'failed') code = exitCode.failure
        continue
      }
      const words = done.type === 'send' ? await messageWithFiles(chat, done.words, '') : null
      const ending = await takeTurn(chat, words, 'fork')
      if (words !== null) chat.attached = []
      if (ending === 'failed' || ending === 'unsent') code = exitCode.failure
      if (ending === 'interrupted' || ending === 'left') return exitCode.interrupted
    }
  } finally {
    context.signal.removeEventListener('abort', stop)
    lines.close()
  }
  return context.signal.aborted ? exitCode.interrupted : code
}

/** `skein resume [id]`: picks a conversation and continues it. */
export const resumeCommand: CommandHandler = async (args, context) => {
  const [id] = args.arguments
  if (id === undefined && !context.canAsk)
    throw new UsageError('resume needs an id here', 'skein ls lists them')
  const files = await attachedTo(args, context)
  const store = await context.store()
  const start = async (chosen: ChosenConversation) => {
    const setup = await openModelSetup(args, context, chosen.status?.conversation)
    return startChat(chosen, context, { setup, files, name: null })
  }
  if (id !== undefined) {
    const found = await findNamed(id, store, context)
    if (!found) throw new NotFoundError('id', id)
    const chosen = await chooseNamed(id, found, { force: hasOption(args, 'force') }, store, context)
    return start(chosen)
  }
  const keyboard = openKeyboard(context, context.err)
  const chosen = await pickConversation(store, keyboard, context, 'leave').finally(() => keyboard.close())
  if (context.signal.aborted) return exitCode.interrupted
  return chosen ? start(chosen) : exitCode.ok
}
