import { NotFoundError } from '../../core/errors.ts'
import { type CommandHandler, hasOption } from '../command-line/command.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { openModelSetup } from '../model/model-setup.ts'
import { type ChosenConversation, chooseConversation, chooseNamed } from '../target/choose-conversation.ts'
import { findNamed } from '../target/find-named.ts'
import { startChat } from './chat.ts'
import { openKeyboard } from './input/keyboard.ts'
import { pickConversation } from './state/pick-conversation.ts'

/** `skein resume [id]`: picks a conversation and continues it. */
export const resumeCommand: CommandHandler = async (args, context) => {
  const [id] = args.arguments
  if (id === undefined && !context.canAsk)
    throw new UsageError('resume needs an id here', 'skein ls lists them')
  const store = await context.store()
  const start = async (chosen: ChosenConversation) => {
    const setup = await openModelSetup(args, context, chosen.status?.conversation)
    return startChat(chosen, context, { setup, name: null })
  }
  if (id !== undefined) {
    const found = await findNamed(id, store, context)
    if (!found) throw new NotFoundError('id', id)
    const chosen = await chooseNamed(id, found, { force: hasOption(args, 'force') }, store, context)
    return start(chosen)
  }
  const keyboard = openKeyboard(context, context.err)
  const chosen = await pickConversation(store, keyboard, context, 'new one').finally(() => keyboard.close())
  if (context.signal.aborted) return exitCode.interrupted
  return start(chosen ?? (await chooseConversation({ arguments: [], options: { new: true } }, context)))
}
