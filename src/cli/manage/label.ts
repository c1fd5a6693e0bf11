import { hasOption, type Run } from '../command-line/command.ts'
import { exit } from '../command-line/exit-code.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { shortIdIn } from '../output/short-id.ts'
import { withStore } from '../store/with-store.ts'

/** Puts a label on a message or a conversation, takes it away, or shows it. */
export const label: Run = (given, world) => {
  const [text, ...words] = given.arguments as [string, ...string[]]
  const wanted = words.join(' ').trim()
  const clear = hasOption(given, 'remove')
  if (clear && words.length > 0)
    throw new UsageError('--remove and a label contradict each other', 'Drop one.')
  if (words.length > 0 && wanted === '')
    throw new UsageError('a label needs words', 'To take it away: --remove')
  return withStore(world, async store => {
    const { conversation, message } = await store.resolve(text)
    const before = message === null ? conversation.label : (await store.getMessages([message]))[0]!.label
    const changes = clear || wanted !== ''
    const now = changes ? wanted || null : before
    if (changes) {
      if (message !== null) await store.setLabel(message, now)
      else await store.updateConversation(conversation.id, { label: now })
    }
    if (world.json) {
      world.out.line(JSON.stringify({ conversation: conversation.id, message, label: now, before }))
      return exit.ok
    }
    if (!changes) {
      if (before !== null) world.out.line(world.out.style.safe(before))
      else if (!world.quiet) world.err.line('it has no label')
    } else if (!world.quiet) {
      const { style } = world.err
      const short = style.id(await shortIdIn(store, message ?? conversation.id))
      world.err.line(now === null ? `took the label from ${short}` : `labelled ${short}: ${style.safe(now)}`)
    }
    return exit.ok
  })
}
