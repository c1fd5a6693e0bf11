import type { Run } from '../command-line/command.ts'
import { exit } from '../command-line/exit-code.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { shortIdIn } from '../output/short-id.ts'
import { withStore } from '../store/with-store.ts'

/** Gives a conversation another title, or a branch (`id:branch`) another name. Nothing else changes. */
export const rename: Run = (given, world) => {
  const [text, ...words] = given.arguments as [string, ...string[]]
  const name = words.join(' ').trim()
  if (name === '') throw new UsageError('rename needs a name', 'skein rename --help')
  return withStore(world, async store => {
    const { conversation, branch, message } = await store.resolve(text)
    if (message !== null) {
      throw new UsageError(`${text} is a message, and messages have labels`, `skein label ${text} "${name}"`)
    }
    const isBranch = text.includes(':') && branch.key !== text
    if (isBranch) await store.renameBranch(branch, name)
    else await store.updateConversation(conversation.id, { title: name })
    if (world.json) {
      const { id } = conversation
      world.out.line(
        JSON.stringify({ conversation: id, branch: isBranch ? name : null, name, before: before() }),
      )
    } else if (!world.quiet) {
      const { style } = world.err
      const short = style.id(await shortIdIn(store, conversation.id))
      world.err.line(`renamed ${short}: "${style.safe(before() ?? 'untitled')}" is "${style.safe(name)}" now`)
    }
    return exit.ok

    function before(): string | null {
      return isBranch ? branch.name : conversation.title
    }
  })
}
