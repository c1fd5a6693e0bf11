import { userInfo } from 'node:os'
import { type Message, textOf } from '../../core/message.ts'
import type { ConversationReader, Deleter, MessageReader } from '../../core/ports.ts'
import { type Given, hasOption, type Run, textOption } from '../command-line/command.ts'
import type { World } from '../command-line/command-context.ts'
import { confirm } from '../command-line/confirm.ts'
import { exit } from '../command-line/exit-code.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { cut, folded } from '../output/cut.ts'
import { plural } from '../output/number.ts'
import { shortIdIn } from '../output/short-id.ts'
import { withStore } from '../store/with-store.ts'

/** Removes the words of messages for good and keeps their places. */
export const erase: Run = async (given, world) => {
  const reason = textOption(given, 'reason')
  if (reason === undefined || reason.trim() === '')
    throw new UsageError('erase needs --reason, which stays in the place of the words', 'skein erase --help')
  return withStore(world, store => eraseIn(store, given, world, reason))
}

async function eraseIn(
  store: ConversationReader & MessageReader & Deleter,
  given: Given,
  world: World,
  reason: string,
): Promise<number> {
  const messages = await named(store, given.arguments)
  const waiting = messages.filter(({ erased }) => erased === null)
  if (waiting.length > 0 && !(await mayGoOn(store, waiting, hasOption(given, 'yes'), world))) {
    if (!world.quiet) world.err.line('nothing was changed')
    return exit.ok
  }
  const by = textOption(given, 'by') ?? userInfo().username
  const ids = waiting.map(({ id }) => id)
  const erased = ids.length > 0 ? await store.eraseMessages(ids, { by, reason }) : 0
  const traces = erased > 0 ? await removeTraces(world) : null
  tell(world, { erased, already: messages.length - waiting.length, ids, by, reason, traces })
  return exit.ok
}

/** Only messages: a word less on the command line must not erase a conversation. */
async function named(
  store: ConversationReader & MessageReader,
  texts: readonly string[],
): Promise<readonly Message[]> {
  const messages: Message[] = []
  for (const text of texts) {
    const { message } = await store.resolve(text)
    if (message === null || !message.startsWith(text.toLowerCase()))
      throw new UsageError(`${text} is no message`, 'erase takes ids of messages: skein show <id> has them')
    messages.push(...(await store.getMessages([message], { blobs: 'preview' })))
  }
  return messages
}

async function mayGoOn(
  store: ConversationReader,
  messages: readonly Message[],
  isSure: boolean,
  world: World,
): Promise<boolean> {
  if (isSure) return true
  if (!world.canAsk) throw new UsageError('erase asks first, and nobody is here to answer', 'Add --yes')
  const { style } = world.err
  for (const message of messages.slice(0, 10)) {
    const text = cut(folded(style.safe(textOf(message))), world.err.width - 20, style.symbols.dots)
    world.err.line(`  ${style.id(await shortIdIn(store, message.id))}  ${message.role}: ${text}`)
  }
  if (messages.length > 10) world.err.line(`  and ${messages.length - 10} more`)
  return confirm(`erase the words of ${plural(messages.length, 'message')} for good?`, world)
}

/** Whether the words are gone from the bytes of the file too; null where that is not ours to say. */
async function removeTraces(world: World): Promise<boolean | null> {
  const { target, isFile } = world.place()
  if (!isFile) return null
  const { shredErased } = await import('../../stores/sqlite/shred.ts')
  return shredErased(target)
}

interface Receipt {
  readonly erased: number
  readonly already: number
  readonly ids: readonly string[]
  readonly by: string
  readonly reason: string
  readonly traces: boolean | null
}

function tell(world: World, receipt: Receipt): void {
  const { erased, already, ids, by, reason, traces } = receipt
  if (world.json) {
    const places = { messages: ids, by, reason }
    world.out.line(JSON.stringify({ erased, already_erased: already, ...places, gone_from_file: traces }))
    return
  }
  if (world.quiet) return
  const { dot, note } = world.err.style.symbols
  const rest = already > 0 ? ` ${dot} ${plural(already, 'message')} had none left` : ''
  world.err.line(`erased ${plural(erased, 'message')}${rest} ${dot} by ${world.err.style.safe(by)}`)
  if (erased === 0) return
  if (traces === false)
    world.err.line(
      `${world.err.style.note(note)} another process is at the file: traces may be left in it. Again, when nobody is: skein erase`,
    )
  if (traces === null)
    world.err.line(
      `${world.err.style.note(note)} PostgreSQL keeps old versions of rows until its next VACUUM`,
    )
  world.err.line(`backups, exports and copies still hold the words, and so does whoever has read them`)
}
