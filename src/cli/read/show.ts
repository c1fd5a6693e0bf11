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
import { lastCode } from './code.ts'
import { printPaged } from './pager.ts'
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
