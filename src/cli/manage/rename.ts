import type { CommandHandler } from '../command-line/command.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { uniqueShortId } from '../output/short-id.ts'
import { withStore } from '../store/with-store.ts'
import { needIdOrTitle } from '../target/find-named.ts'

/** `skein rename`: changes the title of a conversation, or the name of a branch (`id:branch`). */
export const renameCommand: CommandHandler = (args, context) => {
  const [text, ...words] = args.arguments as [string, ...string[]]
  const name = words.join(' ').trim()
  if (name === '') throw new UsageError('rename needs a name', 'skein rename --help')
  return withStore(context, async store => {
    const { conversation, branch, message } = await needIdOrTitle(text, store, context)
    if (message !== null) {
      throw new UsageError(`${text} is a message, and messages have labels`, `skein label ${text} "${name}"`)
    }
    const isBranch = text.endsWith(`:${branch.name}`) && branch.key !== text
    if (isBranch) await store.renameBranch(branch, name)
    else await store.updateConversation(conversation.id, { title: name })
    if (context.json) {
      const { id } = conversation
      context.out.line(
        JSON.stringify({ conversation: id, branch: isBranch ? name : null, name, before: before() }),
      )
    } else if (!context.quiet) {
      const { style } = context.err
      const short = style.id(await uniqueShortId(store, conversation.id))
      context.err.line(
        `renamed ${short}: "${style.safe(before() ?? 'untitled')}" is "${style.safe(name)}" now`,
      )
    }
    return exitCode.ok

    function before(): string | null {
      return isBranch ? branch.name : conversation.title
    }
  })
}
