import { spawn } from 'node:child_process'
import type { Message } from '../../core/message.ts'
import type { ConversationReader, Lister, Resolved } from '../../core/ports.ts'
import { type Given, hasOption, type Run, textOption } from '../command-line/command.ts'
import type { World } from '../command-line/command-context.ts'
import { exit } from '../command-line/exit-code.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { cut, padEnd, widthOf } from '../output/cut.ts'
import { gistOf } from '../output/gist.ts'
import { field, printLines, writeJson } from '../output/print.ts'
import { shortIdIn, shortIds } from '../output/short-id.ts'
import { localTime } from '../output/time.ts'
import { withStore } from '../store/with-store.ts'
import { newestHere } from '../target/newest-here.ts'
import { readShown, type Shown } from './read-shown.ts'
import { showJson } from './show-json.ts'
import { showLines, whoSaid } from './show-lines.ts'
import { showMarkdown } from './show-markdown.ts'

/** `skein show`: what was said on the way to a message, or on a branch. */
export const show: Run = (given, world) => {
  checkOptions(given, world)
  return withStore(world, async store => {
    const shown = await readShown(store, await resolved(store, given, world), world.now())
    const path = await fromOn(store, shown.path, textOption(given, 'from'))
    if (hasOption(given, 'code')) {
      const code = lastCode(path)
      if (code === null) {
        world.err.line(`${world.err.style.failed('skein:')} there is no code block on this path`)
        return exit.notFound
      }
      world.out.write(world.out.style.safe(code))
    } else if (world.json) writeJson(world, await showJson(store, shown, path, world.now()))
    else if (hasOption(given, 'path')) await printLines(world.out, outline(shown, path, world))
    else if (world.out.isTerminal) await forPeople(store, shown, path, given, world)
    else {
      const { style } = world.out
      const look = { style, full: hasOption(given, 'full'), now: world.now() }
      await printLines(world.out, showMarkdown(shown, path, look))
    }
    return exit.ok
  })
}

function checkOptions(given: Given, { json }: World): void {
  const asked = ['code', 'path', 'full'].filter(name => hasOption(given, name)).map(name => `--${name}`)
  if (json && asked.length > 0) asked.push('--json')
  if (asked.length > 1) throw new UsageError(`${asked.join(' and ')} contradict each other`, 'Drop one')
}

/** What was asked for; without an id, what a bare `skein` would go on with. */
async function resolved(store: ConversationReader & Lister, given: Given, world: World): Promise<Resolved> {
  const [text] = given.arguments
  if (text !== undefined) return store.resolve(text)
  const from = textOption(given, 'from')
  if (from !== undefined) return { ...(await store.resolve(from)), message: null }
  const { place } = await newestHere(store, world)
  if (place === null) throw new UsageError('show needs an id here', 'skein ls --all lists them')
  return { ...place, message: null }
}

/** The path from a message on. */
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

async function forPeople(
  store: ConversationReader,
  shown: Shown,
  path: readonly Message[],
  given: Given,
  world: World,
): Promise<void> {
  const { style, width } = world.out
  const { id } = shown.facts.conversation
  const short = new Map<string, string>(shortIds(shown.path.map(message => message.id)))
  short.set(id, await shortIdIn(store, id))
  for (const trace of [...shown.traces.values()].flat()) short.set(trace.id, await shortIdIn(store, trace.id))
  const full = hasOption(given, 'full')
  const look = { width, style, full, short, env: world.env, now: world.now() }
  await printPaged(world, [...showLines(shown, path, look)])
}

/** `--path`: a line for each message; in a pipe its full id, time, who, and its first words. */
function* outline(shown: Shown, path: readonly Message[], world: World): Generator<string> {
  const { style, width, isTerminal } = world.out
  const short = shortIds(shown.path.map(message => message.id))
  const names = path.map(message => cut(style.safe(whoSaid(message, shown)), 16, style.symbols.dots))
  const widest = names.reduce((most, name) => Math.max(most, widthOf(name)), 0)
  for (const [i, message] of path.entries()) {
    const who = padEnd(names[i]!, widest)
    if (!isTerminal) {
      yield [message.id, message.createdAt.toISOString(), message.role, field(world, gistOf(message))].join(
        '\t',
      )
      continue
    }
    const id = short.get(message.id)!
    const time = localTime(message.createdAt)
    const room = Math.max(12, width - widthOf(`${id}  ${time}  ${who}  `))
    const gist = cut(style.safe(gistOf(message)), room, style.symbols.dots)
    yield `${style.id(id)}  ${style.faint(time)}  ${style.title(who)}  ${gist}`
  }
}

/** The inside of the last fenced block that was said, with the line break at its end, or null. */
function lastCode(path: readonly Message[]): string | null {
  for (const { blocks } of path.toReversed()) {
    for (const block of blocks.toReversed()) {
      const found = block.type === 'text' ? fencedIn(String(block.text)).at(-1) : undefined
      if (found !== undefined) return found
    }
  }
  return null
}

/** The fenced blocks of a Markdown text. One that is never closed reaches to the end. */
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

/** Prints lines; on a terminal with fewer rows than there are lines, through a pager: PAGER, else `less -FIRX`. */
async function printPaged(world: World, lines: readonly string[]): Promise<void> {
  const { out, env } = world
  const isPlain = !out.isTerminal || env.TERM === 'dumb' || /^\s*(cat)?\s*$/.test(env.PAGER ?? 'less')
  if (isPlain || lines.length < out.rows || !(await readWith(env, lines))) await printLines(out, lines)
}

/** False if there is no such pager. */
function readWith(env: World['env'], lines: readonly string[]): Promise<boolean> {
  // Ctrl+C is for the pager: it stops a search there, and must not end us before it.
  const ignore = () => undefined
  process.on('SIGINT', ignore)
  return new Promise<boolean>(resolve => {
    const options = {
      stdio: ['pipe', 'inherit', 'inherit'] as ['pipe', 'inherit', 'inherit'],
      env: { ...env, LESS: env.LESS ?? 'FIRX' },
    }
    // What people put into PAGER is a command line.
    const child = env.PAGER
      ? spawn(env.PAGER, { ...options, shell: true })
      : spawn('less', ['-FIRX'], options)
    // Whoever quits before the end has seen enough.
    child.stdin.on('error', ignore)
    child.on('error', () => resolve(false))
    child.on('close', code => resolve(code !== 127))
    child.stdin.end(`${lines.join('\n')}\n`)
  }).finally(() => process.removeListener('SIGINT', ignore))
}
