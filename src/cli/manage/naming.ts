import { type CommandHandler, hasOption } from '../command-line/command.ts'
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

/** `skein label`: sets, removes or shows the label of a message or a conversation. */
export const labelCommand: CommandHandler = (args, context) => {
  const [text, ...words] = args.arguments as [string, ...string[]]
  const wanted = words.join(' ').trim()
  const clear = hasOption(args, 'remove')
  if (clear && words.length > 0)
    throw new UsageError('--remove and a label contradict each other', 'Drop one.')
  if (words.length > 0 && wanted === '')
    throw new UsageError('the label is empty', 'To remove the label: --remove')
  return withStore(context, async store => {
    const { conversation, message } = await needIdOrTitle(text, store, context)
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

/** `skein tag`: adds, removes or shows the tags of a conversation. */
export const tagCommand: CommandHandler = (args, context) => {
  const [text, ...named] = args.arguments as [string, ...string[]]
  const removes = hasOption(args, 'remove')
  if (removes && named.length === 0) throw new UsageError('--remove needs a tag', 'skein tag <id> lists them')
  if (named.some(tag => tag.trim() === '')) throw new UsageError('a tag must not be empty')
  return withStore(context, async store => {
    const { conversation, message } = await needIdOrTitle(text, store, context)
    if (message !== null)
      throw new UsageError(`${text} is a message, and tags are for conversations`, `skein label ${text} …`)
    const { id, tags: before } = conversation
    const tags = removes ? before.filter(tag => !named.includes(tag)) : [...new Set([...before, ...named])]
    if (named.length > 0) await store.updateConversation(id, { tags })
    if (context.json) {
      context.out.line(JSON.stringify({ conversation: id, tags, before }))
      return exitCode.ok
    }
    const { err, out, quiet } = context
    if (named.length === 0) {
      for (const tag of tags) out.line(out.style.safe(tag))
      if (tags.length === 0 && !quiet) err.line('it has no tags')
    } else if (!quiet) {
      const { style } = err
      const list = tags.length === 0 ? 'none' : style.safe(tags.join(', '))
      err.line(`tags of ${style.id(await uniqueShortId(store, id))}: ${list}`)
    }
    return exitCode.ok
  })
}
