import { InvalidError, NotFoundError } from '../../core/errors.ts'
import type { MessageId } from '../../core/ids.ts'
import type { ConversationReader, ConversationWriter, Lister, MessageReader } from '../../core/ports.ts'
import { type Given, hasOption, type Run, textOption } from '../command-line/command.ts'
import type { World } from '../command-line/command-context.ts'
import { exit } from '../command-line/exit-code.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { shortIdIn } from '../output/short-id.ts'
import { withStore } from '../store/with-store.ts'
import { checkOurs } from '../target/choose-conversation.ts'
import { findNamed } from '../target/find-named.ts'
import { forkAt, makeFork } from '../target/planned-fork.ts'

/** `skein fork <id>`: a branch at any message. Nothing is copied, and nothing else moves. */
export const fork: Run = (given, world) => {
  const [id = ''] = given.arguments
  const name = branchName(textOption(given, 'name'))
  return withStore(world, store => forkIn(store, id, name, given, world))
}

async function forkIn(
  store: ConversationReader & ConversationWriter & MessageReader & Lister,
  id: string,
  name: string | undefined,
  given: Given,
  world: World,
): Promise<number> {
  const found = await findNamed(id, store, world)
  if (!found) throw new NotFoundError('id', id)
  checkOurs(id, found.conversation, hasOption(given, 'force'), world)
  const at = found.message ?? found.branch.head
  if (at === null) throw new InvalidError('id', `${id} is empty: there is nothing to fork`)
  const made =
    name === undefined
      ? await makeFork(store, await forkAt(store, found.conversation, at))
      : await store.createBranch(found.conversation.id, at, { name })
  await tell(at, { conversationId: found.conversation.id, name: made.name }, store, world)
  return exit.ok
}

/** A name is typed again after `-c`, and in `id:branch`. */
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
  world: World,
): Promise<void> {
  const { out, err } = world
  if (world.json) {
    out.line(JSON.stringify({ conversation: branch.conversationId, branch: branch.name, message: at }))
    return
  }
  if (world.quiet) return
  const { style } = err
  // The name alone leads elsewhere if another conversation, or an id, has it too.
  const byName = await findNamed(branch.name, store, world)
  const isPlain = byName?.conversation.id === branch.conversationId && byName.branch.name === branch.name
  const short = isPlain ? '' : `${await shortIdIn(store, branch.conversationId)}:`
  const goOn = `skein -c ${short}${style.branch(style.safe(branch.name))} "…"`
  err.line(`forked at ${style.id(await shortIdIn(store, at))}, nothing copied. Go on: ${goOn}`)
}
