import { userInfo } from 'node:os'
import { collapseSpaces } from '../../core/collapse-spaces.ts'
import type { Maintainer } from '../../core/maintainer.ts'
import { type Message, textOf } from '../../core/message.ts'
import type { ConversationReader, Deleter, MessageReader } from '../../core/ports.ts'
import type { ErasedMessages } from '../../core/removal.ts'
import { inputHistoryFile, repeatedInputs } from '../chat/input/input-history.ts'
import { type Args, type CommandHandler, hasOption, textOption } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { confirm } from '../command-line/confirm.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { type Remnants, removeRemnants, tellBranches, tellRemnants } from '../manage/remnants.ts'
import { cut } from '../output/cut.ts'
import { plural } from '../output/number.ts'
import { uniqueShortId } from '../output/short-id.ts'
import { withStore } from '../store/with-store.ts'

/** `skein erase`: removes the content of messages permanently, and keeps their places. */
export const eraseCommand: CommandHandler = async (args, context) => {
  const reason = textOption(args, 'reason')
  if (reason === undefined || reason.trim() === '')
    throw new UsageError('erase needs --reason, which is stored in place of the words', 'skein erase --help')
  return withStore(context, store => eraseIn(store, args, context, reason))
}

async function eraseIn(
  store: ConversationReader & MessageReader & Deleter & Pick<Maintainer, 'compact'>,
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
  const done = ids.length > 0 ? await store.eraseMessages(ids, { by, reason }) : nothingErased
  const repeated = await repeatedInputs(inputHistoryFile(context.env), waiting.map(textOf))
  const remnants =
    done.erased > 0 ? await removeRemnants(store, repeated, done.remains, context) : { places: [], inputs: 0 }
  tell(context, { done, already: messages.length - waiting.length, ids, by, reason, remnants })
  return exitCode.ok
}

const nothingErased: ErasedMessages = {
  erased: 0,
  summaries: 0,
  titles: 0,
  branches: [],
  events: 0,
  remains: [],
}

/** Accepts message ids only, so that a mistyped command cannot erase a conversation. */
async function named(
  store: ConversationReader & MessageReader,
  texts: readonly string[],
): Promise<readonly Message[]> {
  const messages = new Map<string, Message>()
  for (const text of texts) {
    const { message } = await store.resolve(text)
    if (message === null || !message.startsWith(text.toLowerCase()))
      throw new UsageError(`${text} is not the id of a message`, 'List them: skein show <conversation>')
    const [found] = await store.getMessages([message], { blobs: 'preview' })
    messages.set(message, found!)
  }
  return [...messages.values()]
}

async function isConfirmed(
  store: ConversationReader,
  messages: readonly Message[],
  isSure: boolean,
  context: CommandContext,
): Promise<boolean> {
  if (isSure) return true
  if (!context.canAsk) throw new UsageError('erase asks first, and this is not a terminal', 'Add --yes')
  const { style } = context.err
  for (const message of messages.slice(0, 10)) {
    const text = cut(collapseSpaces(style.safe(textOf(message))), context.err.width - 20, style.symbols.dots)
    context.err.line(`  ${style.id(await uniqueShortId(store, message.id))}  ${message.role}: ${text}`)
  }
  if (messages.length > 10) context.err.line(`  and ${messages.length - 10} more`)
  return confirm(`erase the words of ${plural(messages.length, 'message')}? This cannot be undone.`, context)
}

interface Receipt {
  readonly done: ErasedMessages
  readonly already: number
  readonly ids: readonly string[]
  readonly by: string
  readonly reason: string
  readonly remnants: Remnants
}

function tell(context: CommandContext, receipt: Receipt): void {
  if (context.json) {
    context.out.line(JSON.stringify(jsonOf(receipt, context)))
    return
  }
  if (context.quiet) return
  const { done, already, by, remnants } = receipt
  const { err } = context
  const { dot } = err.style.symbols
  const before = already > 0 ? [`already erased: ${plural(already, 'message')}`] : []
  if (done.erased === 0) return void err.line(before[0] ?? 'nothing was changed')
  const extra = [
    ...(done.titles > 0 ? [plural(done.titles, 'title')] : []),
    ...(done.summaries > 0 ? [plural(done.summaries, 'summary', 'summaries')] : []),
    ...(done.branches.length > 0 ? [plural(done.branches.length, 'branch name')] : []),
    ...(done.events > 0 ? [plural(done.events, 'trace event')] : []),
  ]
  const erased = [plural(done.erased, 'message'), ...extra].join(', ')
  err.line([`erased ${erased}`, ...before, `by ${err.style.safe(by)}`].join(` ${dot} `))
  tellBranches(done.branches, context)
  tellRemnants(remnants, context)
}

function jsonOf({ done, already, ids, by, reason, remnants }: Receipt, { location }: CommandContext) {
  const { places, inputs } = remnants
  const isKept = places.includes('file') || places.includes('log')
  return {
    erased: done.erased,
    already_erased: already,
    messages: ids,
    by,
    reason,
    gone_from_file: done.erased === 0 || !location().isFile ? null : !isKept,
    erased_titles: done.titles,
    erased_summaries: done.summaries,
    renamed_branches: done.branches.map(({ name }) => name),
    erased_events: done.events,
    input_lines: inputs,
    remains: places,
  }
}
