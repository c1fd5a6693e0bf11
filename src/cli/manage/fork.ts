import { copyAsNewConversation, type PathCopier } from '../../core/copy-as-new.ts'
import { InvalidError, NotFoundError } from '../../core/errors.ts'
import type { MessageId } from '../../core/ids.ts'
import type { ConversationReader, ConversationWriter, Lister, MessageReader } from '../../core/ports.ts'
import { type Args, type CommandHandler, hasOption, textOption } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { plural } from '../output/number.ts'
import { uniqueShortId } from '../output/short-id.ts'
import { skeinCommand } from '../store/skein-command.ts'
import { withStore } from '../store/with-store.ts'
import { checkOwnership } from '../target/choose-conversation.ts'
import { findNamed } from '../target/find-named.ts'
import { createSiblingBranch } from '../target/planned-fork.ts'

/** `skein fork <id>`: creates a branch at any message. Copies nothing, and moves no other branch. */
export const forkCommand: CommandHandler = (args, context) => {
  const [id = ''] = args.arguments
  const name = branchName(textOption(args, 'name'))
  return withStore(context, store => forkIn(store, id, name, args, context))
}

async function forkIn(
  store: ConversationReader & ConversationWriter & MessageReader & Lister,
  id: string,
  name: string | undefined,
  args: Args,
  context: CommandContext,
): Promise<number> {
  const found = await findNamed(id, store, context)
  if (!found) throw new NotFoundError('id', id)
  const at = found.message ?? found.branch.head
  if (at === null) throw new InvalidError('id', `${id} is empty: there is nothing to fork`)
  if (found.conversation.owner !== null) return copyForeign(store, at, found.conversation.owner, context)
  checkOwnership(id, found.conversation, hasOption(args, 'force'), context)
  const made =
    name === undefined
      ? await createSiblingBranch(store, found.conversation.id, at, found.conversation.activeBranch)
      : await store.createBranch(found.conversation.id, at, { name })
  await tell(at, { conversationId: found.conversation.id, name: made.name }, store, context)
  return exitCode.ok
}

/** Another program alone writes its conversation, so the fork is a new conversation. */
async function copyForeign(
  store: PathCopier & ConversationReader,
  at: MessageId,
  owner: string,
  context: CommandContext,
): Promise<number> {
  const { conversation, branch } = await copyAsNewConversation(store, at, {
    channel: 'cli',
    directory: context.cwd,
  })
  if (context.json) {
    const made = { conversation: conversation.id, branch: branch.name, message: branch.head }
    context.out.line(JSON.stringify(made))
  } else if (!context.quiet) {
    const { style } = context.err
    const short = style.id(await uniqueShortId(store, conversation.id))
    const what = `${plural(conversation.messages, 'message')} of ${style.safe(owner)}`
    context.err.line(
      `copied ${what} into a new conversation. Continue: ${skeinCommand(context)} -c ${short} "…"`,
    )
  }
  return exitCode.ok
}

/** The name has to work after `-c` and in `id:branch`. */
function branchName(name: string | undefined): string | undefined {
  if (name !== undefined && (name === '' || /[\s:]/.test(name) || name.startsWith('-')))
    throw new UsageError(
      `a branch cannot be named "${name}"`,
      'No spaces, no colon, no dash at the beginning',
    )
  return name
}

async function tell(
  at: MessageId,
  branch: { readonly conversationId: string; readonly name: string },
  store: ConversationReader & Lister,
  context: CommandContext,
): Promise<void> {
  const { out, err } = context
  if (context.json) {
    out.line(JSON.stringify({ conversation: branch.conversationId, branch: branch.name, message: at }))
    return
  }
  if (context.quiet) return
  const { style } = err
  // If another conversation has a branch of this name, or it is an id, the name alone is ambiguous.
  const byName = await findNamed(branch.name, store, context)
  const isPlain = byName?.conversation.id === branch.conversationId && byName.branch.name === branch.name
  const short = isPlain ? '' : `${await uniqueShortId(store, branch.conversationId)}:`
  const goOn = `${skeinCommand(context)} -c ${short}${style.branch(style.safe(branch.name))} "…"`
  err.line(`forked at ${style.id(await uniqueShortId(store, at))}, nothing copied. Continue: ${goOn}`)
}
