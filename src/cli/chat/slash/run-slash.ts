import { similarWords } from '../../../core/similar-words.ts'
import { scriptedCommands } from '../../../models/scripted-commands.ts'
import type { PathBase } from '../../attach/attach-file.ts'
import { completePath } from '../../attach/complete-path.ts'
import { errorReport, printErrorReport } from '../../command-line/error-report.ts'
import { cut } from '../../output/cut.ts'
import { explainError } from '../../target/explain-error.ts'
import { type Candidate, type Completer, fittingCandidates } from '../input/complete-line.ts'
import type { Chat, NextStep } from '../state/chat-state.ts'
import { agentCommandsIn, slashSet } from './agent-commands.ts'
import { commandsIn, slashCommands } from './index.ts'
import type { SlashCommand } from './slash-command.ts'

/** The outcome of an input: the result of a command, or text to send. */
type Done = NextStep | { readonly type: 'failed' }

/** Runs the `/` command in a line. Any other line is text to send. `//` sends a text that begins with a
 *  slash. A command of another program's agent is text to send, unless we have one of the same name. An
 *  unknown command is an error and never sent, unless the built-in model obeys it. A path with a second
 *  slash, such as /usr/bin, is text. */
export async function runSlash(chat: Chat, line: string): Promise<Done> {
  const [, name, argument = ''] = /^\/([\p{L}\p{N}_?-]*)(?:\s+([\s\S]*))?$/u.exec(line.trim()) ?? []
  if (line.startsWith('//')) return { type: 'send', words: line.slice(1) }
  if (name === undefined) return { type: 'send', words: line }
  const isNamed = (one: SlashCommand) => [one.name, ...(one.aliases ?? [])].includes(name.toLowerCase())
  const command = commandsIn(chat).find(isNamed)
  if (!command) return otherCommand(chat, line, name, slashCommands.find(isNamed))
  try {
    if (command.needs !== 'nothing') {
      const missing = await whatIsMissing(chat)
      if (missing !== null) {
        chat.note(missing)
        return { type: 'failed' }
      }
    }
    return await command.run(chat, argument.trim())
  } catch (error) {
    await tell(error, argument, chat)
    return { type: 'failed' }
  }
}

/** A command that is not one of ours here: `elsewhere` is the one that does not apply. */
async function otherCommand(
  chat: Chat,
  line: string,
  name: string,
  elsewhere: SlashCommand | undefined,
): Promise<Done> {
  const { controller } = chat
  try {
    const commands = await agentCommandsIn(chat, true)
    if (commands.some(one => one.name === name)) return { type: 'send', words: line.trim() }
  } catch (error) {
    await tell(error, '', chat)
    return { type: 'failed' }
  }
  if (elsewhere) {
    const why = controller.host
      ? `${controller.model.id} chooses its own context`
      : 'it is for the agent of another program, in skein agent'
    chat.note(`/${elsewhere.name} does not apply here: ${why}`)
    return { type: 'failed' }
  }
  const isForModel = controller.model.id === 'scripted' && scriptedCommands.includes(name)
  if (isForModel) return { type: 'send', words: line }
  const [meant] = similarWords(
    name,
    commandsIn(chat).map(one => one.name),
  )
  const known = meant === undefined ? '/help lists the commands.' : `Did you mean /${meant}?`
  const [first = ''] = line.trim().split('\n', 1)
  chat.note(`there is no command /${name}. ${known} To send it as text: /${cut(first, 40, '…')}`)
  return { type: 'failed' }
}

async function tell(error: unknown, argument: string, { context, controller }: Chat): Promise<void> {
  const words = argument.split(/\s+/)
  const problem = controller.store
    ? await explainError(error, words, controller.store, context)
    : errorReport(error)
  // Flags do not work in a chat: `/new` and `/model` do the same there.
  const hint = problem.hint
    .replace(/skein -n -m (?=\S)/, '/new, then /model ')
    .replace(/(^|\s)-m (?=\S)/, '$1/model ')
  printErrorReport({ ...problem, hint }, error, context.err)
}

async function whatIsMissing({ controller }: Chat): Promise<string | null> {
  if (controller.store === null) return 'incognito: nothing is stored, so there is nothing to show'
  return (await controller.position()) === null ? 'there are no messages here yet' : null
}

/** Completes `/` commands, ours and those of another program's agent, their branches, ids and values, and
 *  files after `@`. Completes nothing else inside other text. */
export function chatCompleter(chat: Chat): Completer {
  return async text => {
    const mention = /(?:^|[\s(])(@(?:"[^"\n]*|[^\s"]*))$/.exec(text)?.[1]
    if (mention !== undefined) return { word: mention, all: mentionCandidates(mention, chat.context) }
    const [, name, rest] = /^\/([a-z]+)\s+(.*)$/is.exec(text) ?? []
    const command = commandsIn(chat).find(one => one.name === name?.toLowerCase())
    if (command?.takesPath) return { word: rest!, all: pathCandidates(rest!, chat.context) }
    const word = /\S*$/.exec(text)![0]
    const before = text.slice(0, text.length - word.length)
    return { word, all: fittingCandidates(word, await candidatesIn(chat, before, word)) }
  }
}

async function candidatesIn(chat: Chat, before: string, word: string): Promise<readonly Candidate[]> {
  const ours = commandsIn(chat)
  if (before === '' && word.startsWith('/')) {
    const taken = new Set(ours.map(({ name }) => name))
    const others = (await agentCommandsIn(chat)).map(({ name }) =>
      taken.has(name) ? `//${name}` : `/${name}`,
    )
    return [...ours.map(({ name }) => `/${name}`), ...others].map(asCandidate)
  }
  const [, name, rest = ''] = /^\/([a-z]+)\s+(.*)$/i.exec(before) ?? []
  const command = ours.find(one => one.name === name?.toLowerCase())
  const given = rest.split(/\s+/).filter(Boolean)
  // Only `/set` takes more than one word that is known.
  if (given.length > 0 && command !== slashSet) return []
  try {
    return ((await command?.complete?.(chat, given)) ?? []).map(asCandidate)
  } catch {
    // The conversation may be empty or the store busy: nothing is offered.
    return []
  }
}

function asCandidate(one: string | Candidate): Candidate {
  return typeof one === 'string' ? { text: one } : one
}

function pathCandidates(typed: string, base: PathBase): readonly Candidate[] {
  return completePath(typed, base).map(({ path, name, isFolder }) => ({
    text: path,
    shown: name,
    isOpen: isFolder,
  }))
}

/** The files after `@`. A path with spaces is quoted, and the quote stays open after a folder. */
function mentionCandidates(mention: string, base: PathBase): readonly Candidate[] {
  const isQuoted = mention.startsWith('@"')
  return completePath(mention.slice(isQuoted ? 2 : 1), base).map(({ path, name, isFolder }) => {
    const needsQuotes = isQuoted || /\s/.test(path)
    const text = needsQuotes ? `@"${path}${isFolder ? '' : '"'}` : `@${path}`
    return { text, shown: name, isOpen: isFolder }
  })
}
