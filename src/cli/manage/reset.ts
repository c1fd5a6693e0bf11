import { NotFoundError } from '../../core/errors.ts'
import { type CommandHandler, hasOption } from '../command-line/command.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { uniqueShortId } from '../output/short-id.ts'
import { skeinCommand } from '../store/skein-command.ts'
import { withStore } from '../store/with-store.ts'
import { checkOwnership } from '../target/choose-conversation.ts'
import { findNamed } from '../target/find-named.ts'
import { newestHere } from '../target/newest-here.ts'

/** `skein reset`: empties a branch. Its messages stay on a branch `before-reset-1`. */
export const resetCommand: CommandHandler = (args, context) => {
  const [text] = args.arguments
  return withStore(context, async store => {
    const found =
      text === undefined ? (await newestHere(store, context)).newest : await findNamed(text, store, context)
    if (text === undefined && !found)
      throw new UsageError('reset needs an id here', 'skein ls --all lists them')
    if (!found) throw new NotFoundError('id', text!)
    if ('message' in found && found.message !== null)
      throw new UsageError(
        `${text} is a message, and reset is for a branch`,
        `To continue before it: skein fork ${text}`,
      )
    const { conversation } = found
    const named = text ?? (await uniqueShortId(store, conversation.id))
    checkOwnership(named, conversation, hasOption(args, 'force'), context)
    const { branch, archived } = await store.reset(found.branch, {
      keepPrompt: !hasOption(args, 'forget-system'),
    })
    if (context.json) {
      const json = { conversation: conversation.id, branch: branch.name, archived: archived?.name ?? null }
      context.out.line(JSON.stringify(json))
    } else if (!context.quiet) {
      const { style } = context.err
      const name = style.branch(style.safe(branch.name))
      const id = await uniqueShortId(store, conversation.id)
      context.err.line(
        archived === null
          ? `${name} was empty already`
          : `${name} is empty now. Its messages are kept: ${skeinCommand(context)} show ${id}:${archived.name}`,
      )
    }
    return exitCode.ok
  })
}
