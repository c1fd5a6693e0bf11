import { gistOf } from '../../core/gist.ts'
import type { Message } from '../../core/message.ts'
import type { ConversationReader, Lister, MessageReader, Resolved } from '../../core/ports.ts'
import { type Args, type CommandHandler, hasOption, textOption } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { checkFields, fieldNames } from '../command-line/json-fields.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { cut, padEnd, widthOf } from '../output/cut.ts'
import { formatInteger } from '../output/number.ts'
import { printPaged } from '../output/pager.ts'
import { type JsonMember, printJsonObject, printLines, printNote, tsvField } from '../output/print.ts'
import { shortenId, shortIds, uniqueShortId } from '../output/short-id.ts'
import { formatTime } from '../output/time.ts'
import { skeinCommand } from '../store/skein-command.ts'
import { withStore } from '../store/with-store.ts'
import { namedOrNewest } from '../target/newest-here.ts'
import { lastCodeIn } from './last-code.ts'
import { showJson, showMembers } from './show-json.ts'
import { showLines, speakerName } from './show-lines.ts'
import { showMarkdown } from './show-markdown.ts'
import { type PathPart, readShownPath, type ShownPath } from './shown-path.ts'

/** The messages that a terminal shows without `--all`. */
const newestShown = 200

/** `skein show`: prints the path to a message, or the path of a branch. */
export const showCommand: CommandHandler = (args, context) => {
  checkOptions(args, context)
  return withStore(context, async store => {
    const shown = await readShownPath(store, await resolved(store, args, context))
    const fromDepth = await depthOf(store, shown, textOption(args, 'from'))
    if (hasOption(args, 'code')) return printCode(shown, fromDepth, context)
    const isForPeople = context.out.isTerminal && !context.json
    const isNewest = isForPeople && !hasOption(args, 'all') && fromDepth === 0
    const parts = shown.parts(isNewest ? { newest: newestShown } : { fromDepth })
    const all = shown.facts.pathMessages
    const rest =
      isNewest && all > newestShown
        ? `the newest ${newestShown} of ${formatInteger(all)} messages ${context.out.style.symbols.bar} all: ${allCommand(args, context)}`
        : null
    if (context.json) await printAsJson(showJson(store, shown, parts, context.now()), args, context)
    else if (hasOption(args, 'path')) {
      await printLines(context.out, outline(parts, context))
      if (rest !== null) printNote(context, rest)
    } else if (isForPeople) await printPath(store, shown, parts, rest, args, context)
    else {
      const { style } = context.out
      const look = { style, full: hasOption(args, 'full'), now: context.now() }
      await printLines(context.out, showMarkdown(shown, parts, look))
    }
    return exitCode.ok
  })
}

/** The command that shows every message, with the same flags. */
function allCommand(args: Args, context: CommandContext): string {
  const [id] = args.arguments
  const named = id === undefined ? [] : [/^[\w:@./-]+$/.test(id) ? id : JSON.stringify(id)]
  const flags = ['full', 'path'].filter(name => hasOption(args, name)).map(name => `--${name}`)
  return [`${skeinCommand(context)} show`, ...named, '--all', ...flags].join(' ')
}

/** Prints the members one after the other: all, or those that `--json=path,branch` selects. */
async function printAsJson(
  members: AsyncIterable<JsonMember>,
  args: Args,
  context: CommandContext,
): Promise<void> {
  const named = textOption(args, 'json')
  return printJsonObject(context, named === undefined ? members : selected(members, fieldNames(named)))
}

/** The named members. Throws UsageError for an unknown one before anything is printed. */
async function* selected(
  members: AsyncIterable<JsonMember>,
  names: readonly string[],
): AsyncGenerator<JsonMember> {
  checkFields(names, showMembers)
  for await (const member of members) {
    if (names.includes(member.name)) yield member
    // The summaries are found while the path is read.
    else if ('items' in member && names.includes('summaries')) for await (const _ of member.items);
  }
}

async function printCode(shown: ShownPath, fromDepth: number, { out, err }: CommandContext): Promise<number> {
  let code: string | null = null
  for await (const { messages } of shown.parts({ newest: newestShown, fromDepth }))
    code = lastCode(messages) ?? code
  // Usually it is near the end.
  if (code === null)
    for await (const { messages } of shown.parts({ fromDepth })) code = lastCode(messages) ?? code
  if (code === null) {
    err.line(`${err.style.failed('skein:')} there is no code block on this path`)
    return exitCode.notFound
  }
  out.write(out.style.safe(code))
  return exitCode.ok
}

function checkOptions(args: Args, { json }: CommandContext): void {
  const asked = ['code', 'path', 'full'].filter(name => hasOption(args, name)).map(name => `--${name}`)
  if (json && asked.length > 0) asked.push('--json')
  if (asked.length > 1) throw new UsageError(`${asked.join(' and ')} contradict each other`, 'Drop one')
}

/** The named message or branch. Default: what `skein` without arguments would continue. */
async function resolved(
  store: ConversationReader & Lister,
  args: Args,
  context: CommandContext,
): Promise<Resolved> {
  const from = textOption(args, 'from')
  const [text] = args.arguments
  if (text === undefined && from !== undefined) return { ...(await store.resolve(from)), message: null }
  const found = await namedOrNewest(text, store, context)
  if (found === null) throw new UsageError('show needs an id here', 'skein ls --all lists them')
  return found
}

/** The depth of the message at which to start. */
async function depthOf(
  store: ConversationReader & MessageReader,
  shown: ShownPath,
  from: string | undefined,
): Promise<number> {
  if (from === undefined) return 0
  const { message: id } = await store.resolve(from)
  if (id === null) throw new UsageError(`--from takes a message, and ${from} is a conversation`)
  const [message] = await store.getMessages([id], { blobs: 'preview' })
  const isOnPath = message!.conversationId === shown.facts.conversation.id && (await shown.contains(message!))
  if (!isOnPath) throw new UsageError(`${from} is not on this path`, `skein show ${from} shows the way to it`)
  return message!.depth
}

async function printPath(
  store: ConversationReader,
  shown: ShownPath,
  parts: AsyncIterable<PathPart>,
  rest: string | null,
  args: Args,
  context: CommandContext,
): Promise<void> {
  const { style, width } = context.out
  const { id } = shown.facts.conversation
  const others = new Map<string, string>([[id, await uniqueShortId(store, id)]])
  let messages: ReadonlyMap<string, string> = new Map()
  const short = (one: string) => others.get(one) ?? messages.get(one) ?? shortenId(one)
  const look = {
    width,
    style,
    full: hasOption(args, 'full'),
    short,
    command: skeinCommand(context),
    env: context.env,
    now: context.now(),
  }
  const opensAt = hasOption(args, 'all') || hasOption(args, 'from') ? 'start' : 'end'
  await printPaged(context, lines(), opensAt)

  async function* lines(): AsyncGenerator<string> {
    yield* showLines(shown, withIds(), look)
    if (rest !== null) yield style.faint(rest)
  }

  async function* withIds(): AsyncGenerator<PathPart> {
    for await (const part of parts) {
      messages = shortIds(part.messages.map(message => message.id as string))
      for (const message of part.messages) {
        for (const trace of part.traces.get(message.id) ?? [])
          others.set(trace.id, await uniqueShortId(store, trace.id))
      }
      yield part
    }
  }
}

/** `--path`: one line per message; in a pipe with full id, time, role and gist. */
async function* outline(parts: AsyncIterable<PathPart>, context: CommandContext): AsyncGenerator<string> {
  const { style, width, isTerminal } = context.out
  let widest = 0
  for await (const part of parts) {
    const short = shortIds(part.messages.map(message => message.id))
    const names = part.messages.map(message =>
      cut(style.safe(speakerName(message, part)), 16, style.symbols.dots),
    )
    widest = names.reduce((most, name) => Math.max(most, widthOf(name)), widest)
    for (const [i, message] of part.messages.entries()) {
      const who = padEnd(names[i]!, widest)
      if (!isTerminal) {
        yield [
          message.id,
          message.createdAt.toISOString(),
          message.role,
          tsvField(context, gistOf(message)),
        ].join('\t')
        continue
      }
      const id = short.get(message.id)!
      const time = formatTime(message.createdAt)
      const room = Math.max(12, width - widthOf(`${id}  ${time}  ${who}  `))
      const gist = cut(style.safe(gistOf(message)), room, style.symbols.dots)
      yield `${style.id(id)}  ${style.faint(time)}  ${style.title(who)}  ${gist}`
    }
  }
}

/** The content of the last fenced code block, including the final line break, or null. */
function lastCode(path: readonly Message[]): string | null {
  for (const { content: blocks } of path.toReversed()) {
    for (const block of blocks.toReversed()) {
      const found = block.type === 'text' ? lastCodeIn(String(block.text)) : null
      if (found !== null) return found
    }
  }
  return null
}
