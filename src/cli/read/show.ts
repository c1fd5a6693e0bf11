import type { Message } from '../../core/message.ts'
import type { ConversationReader, Lister, Resolved } from '../../core/ports.ts'
import { type Args, type CommandHandler, hasOption, textOption } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { cut, padEnd, widthOf } from '../output/cut.ts'
import { gistOf } from '../output/gist.ts'
import { printPaged } from '../output/pager.ts'
import { printJson, printLines, tsvField } from '../output/print.ts'
import { shortIds, uniqueShortId } from '../output/short-id.ts'
import { formatTime } from '../output/time.ts'
import { withStore } from '../store/with-store.ts'
import { newestHere } from '../target/newest-here.ts'
import { showJson } from './show-json.ts'
import { showLines, speakerName } from './show-lines.ts'
import { showMarkdown } from './show-markdown.ts'
import { readShownPath, type ShownPath } from './shown-path.ts'

/** `skein show`: prints the path to a message, or the path of a branch. */
export const showCommand: CommandHandler = (args, context) => {
  checkOptions(args, context)
  return withStore(context, async store => {
    const shown = await readShownPath(store, await resolved(store, args, context), context.now())
    const path = await fromOn(store, shown.path, textOption(args, 'from'))
    if (hasOption(args, 'code')) {
      const code = lastCode(path)
      if (code === null) {
        context.err.line(`${context.err.style.failed('skein:')} there is no code block on this path`)
        return exitCode.notFound
      }
      context.out.write(context.out.style.safe(code))
    } else if (context.json) printJson(context, await showJson(store, shown, path, context.now()))
    else if (hasOption(args, 'path')) await printLines(context.out, outline(shown, path, context))
    else if (context.out.isTerminal) await printPath(store, shown, path, args, context)
    else {
      const { style } = context.out
      const look = { style, full: hasOption(args, 'full'), now: context.now() }
      await printLines(context.out, showMarkdown(shown, path, look))
    }
    return exitCode.ok
  })
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
  const [text] = args.arguments
  if (text !== undefined) return store.resolve(text)
  const from = textOption(args, 'from')
  if (from !== undefined) return { ...(await store.resolve(from)), message: null }
  const { newest } = await newestHere(store, context)
  if (newest === null) throw new UsageError('show needs an id here', 'skein ls --all lists them')
  return { ...newest, message: null }
}

/** The path, starting at a message. */
async function fromOn(
  store: ConversationReader,
  path: readonly Message[],
  from: string | undefined,
): Promise<readonly Message[]> {
  if (from === undefined) return path
  const { message } = await store.resolve(from)
  if (message === null) throw new UsageError(`--from takes a message, and ${from} is a conversation`)
  const at = path.findIndex(one => one.id === message)
  if (at === -1) throw new UsageError(`${from} is not on this path`, `skein show ${from} shows the way to it`)
  return path.slice(at)
}

async function printPath(
  store: ConversationReader,
  shown: ShownPath,
  path: readonly Message[],
  args: Args,
  context: CommandContext,
): Promise<void> {
  const { style, width } = context.out
  const { id } = shown.facts.conversation
  const short = new Map<string, string>(shortIds(shown.path.map(message => message.id)))
  short.set(id, await uniqueShortId(store, id))
  for (const trace of [...shown.traces.values()].flat())
    short.set(trace.id, await uniqueShortId(store, trace.id))
  const full = hasOption(args, 'full')
  const look = { width, style, full, short, env: context.env, now: context.now() }
  await printPaged(context, showLines(shown, path, look), 'end')
}

/** `--path`: one line per message; in a pipe with full id, time, role and gist. */
function* outline(shown: ShownPath, path: readonly Message[], context: CommandContext): Generator<string> {
  const { style, width, isTerminal } = context.out
  const short = shortIds(shown.path.map(message => message.id))
  const names = path.map(message => cut(style.safe(speakerName(message, shown)), 16, style.symbols.dots))
  const widest = names.reduce((most, name) => Math.max(most, widthOf(name)), 0)
  for (const [i, message] of path.entries()) {
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

/** The content of the last fenced code block, including the final line break, or null. */
function lastCode(path: readonly Message[]): string | null {
  for (const { content: blocks } of path.toReversed()) {
    for (const block of blocks.toReversed()) {
      const found = block.type === 'text' ? fencedIn(String(block.text)).at(-1) : undefined
      if (found !== undefined) return found
    }
  }
  return null
}

/** The fenced blocks of a Markdown text. An unclosed block extends to the end. */
function fencedIn(text: string): readonly string[] {
  const found: string[] = []
  let open: { readonly fence: string; readonly indent: number; readonly lines: string[] } | null = null
  for (const line of text.split(/\r?\n/)) {
    const mark = /^( {0,3})(`{3,}|~{3,})(.*)$/.exec(line)
    const [, indent = '', fence = '', info = ''] = mark ?? []
    if (open === null) {
      if (mark && !(fence.startsWith('`') && info.includes('`')))
        open = { fence, indent: indent.length, lines: [] }
    } else if (
      mark &&
      info.trim() === '' &&
      fence[0] === open.fence[0] &&
      fence.length >= open.fence.length
    ) {
      found.push(joined(open.lines))
      open = null
    } else open.lines.push(line.replace(new RegExp(`^ {0,${open.indent}}`), ''))
  }
  if (open !== null && open.lines.length > 0) found.push(joined(open.lines))
  return found
}

function joined(lines: readonly string[]): string {
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`
}
