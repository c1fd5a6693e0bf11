import { userInfo } from 'node:os'
import { type Message, textOf } from '../../core/message.ts'
import type { ConversationReader, Deleter, MessageReader } from '../../core/ports.ts'
import { type Args, type CommandHandler, hasOption, textOption } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { confirm } from '../command-line/confirm.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { collapseSpaces, cut } from '../output/cut.ts'
import { plural } from '../output/number.ts'
import { uniqueShortId } from '../output/short-id.ts'
import { withStore } from '../store/with-store.ts'

/** `skein erase`: removes the content of messages permanently, and keeps their places. */
export const eraseCommand: CommandHandler = async (args, context) => {
  const reason = textOption(args, 'reason')
  if (reason === undefined || reason.trim() === '')
    throw new UsageError('erase needs --reason, which stays in the place of the words', 'skein erase --help')
  return withStore(context, store => eraseIn(store, args, context, reason))
}

async function eraseIn(
  store: ConversationReader & MessageReader & Deleter,
  args: Args,
  context: CommandContext,
  reason: string,
): Promise<number> {
  const messages = await named(store, args.arguments)
  const waiting = messages.filter(({ erased }) => erased === null)
  if (waiting.length > 0 && !(await isConfirmed(store, waiting, hasOption(args, 'yes'), context))) {
    if (!context.quiet) context.err.line('nothing was changed')
    return exitCode.ok
  }
  const by = textOption(args, 'by') ?? userInfo().username
  const ids = waiting.map(({ id }) => id)
  const erased = ids.length > 0 ? await store.eraseMessages(ids, { by, reason }) : 0
  const traces = erased > 0 ? await removeTraces(context) : null
  tell(context, { erased, already: messages.length - waiting.length, ids, by, reason, traces })
  return exitCode.ok
}

/** Accepts message ids only, so that a mistyped command cannot erase a conversation. */
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

async function isConfirmed(
  store: ConversationReader,
  messages: readonly Message[],
  isSure: boolean,
  context: CommandContext,
): Promise<boolean> {
  if (isSure) return true
  if (!context.canAsk) throw new UsageError('erase asks first, and nobody is here to answer', 'Add --yes')
  const { style } = context.err
  for (const message of messages.slice(0, 10)) {
    const text = cut(collapseSpaces(style.safe(textOf(message))), context.err.width - 20, style.symbols.dots)
    context.err.line(`  ${style.id(await uniqueShortId(store, message.id))}  ${message.role}: ${text}`)
  }
  if (messages.length > 10) context.err.line(`  and ${messages.length - 10} more`)
  return confirm(`erase the words of ${plural(messages.length, 'message')} for good?`, context)
}

/** Whether the content is also gone from the bytes of the file; null if the store is not a file. */
async function removeTraces(context: CommandContext): Promise<boolean | null> {
  const { target, isFile } = context.location()
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

function tell(context: CommandContext, receipt: Receipt): void {
  const { erased, already, ids, by, reason, traces } = receipt
  if (context.json) {
    const places = { messages: ids, by, reason }
    context.out.line(JSON.stringify({ erased, already_erased: already, ...places, gone_from_file: traces }))
    return
  }
  if (context.quiet) return
  const { dot, note } = context.err.style.symbols
  const rest = already > 0 ? ` ${dot} ${plural(already, 'message')} had none left` : ''
  context.err.line(`erased ${plural(erased, 'message')}${rest} ${dot} by ${context.err.style.safe(by)}`)
  if (erased === 0) return
  if (traces === false)
    context.err.line(
      `${context.err.style.note(note)} another process is at the file: traces may be left in it. Again, when nobody is: skein erase`,
    )
  if (traces === null)
    context.err.line(
      `${context.err.style.note(note)} PostgreSQL keeps old versions of rows until its next VACUUM`,
    )
  context.err.line(`backups, exports and copies still hold the words, and so does whoever has read them`)
}
