import { type CommandHandler, hasOption } from '../command-line/command.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { uniqueShortId } from '../output/short-id.ts'
import { withStore } from '../store/with-store.ts'

/** `skein label`: sets, removes or shows the label of a message or a conversation. */
export const labelCommand: CommandHandler = (args, context) => {
  const [text, ...words] = args.arguments as [string, ...string[]]
  const wanted = words.join(' ').trim()
  const clear = hasOption(args, 'remove')
  if (clear && words.length > 0)
    throw new UsageError('--remove and a label contradict each other', 'Drop one.')
  if (words.length > 0 && wanted === '')
    throw new UsageError('a label needs words', 'To take it away: --remove')
  return withStore(context, async store => {
    const { conversation, message } = await store.resolve(text)
    const before = message === null ? conversation.label : (await store.getMessages([message]))[0]!.label
    const changes = clear || wanted !== ''
    const now = changes ? wanted || null : before
    if (changes) {
      if (message !== null) await store.setLabel(message, now)
      else await store.updateConversation(conversation.id, { label: now })
    }
    if (context.json) {
      context.out.line(JSON.stringify({ conversation: conversation.id, message, label: now, before }))
      return exitCode.ok
    }
    if (!changes) {
      if (before !== null) context.out.line(context.out.style.safe(before))
      else if (!context.quiet) context.err.line('it has no label')
    } else if (!context.quiet) {
      const { style } = context.err
      const short = style.id(await uniqueShortId(store, message ?? conversation.id))
      context.err.line(
        now === null ? `took the label from ${short}` : `labelled ${short}: ${style.safe(now)}`,
      )
    }
    return exitCode.ok
  })
}
