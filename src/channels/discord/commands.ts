import { speakerOf } from '../../context/view/name-speaker.ts'
import { collectHits, notSearchedNote } from '../../core/collect-hits.ts'
import { InvalidError } from '../../core/errors.ts'
import type { Message } from '../../core/message.ts'
import { textOf } from '../../core/message.ts'
import type { BranchInConversation } from '../../core/ports.ts'
import { unsavedIn } from '../../recorder/waiting-turns.ts'
import { type ChannelStore, clearPlace, forkHere, forkToThread, startNew } from './conversations.ts'
import type { CommandAnswer, IncomingCommand } from './incoming.ts'
import { scopeOfPlace } from './place.ts'
import { conversationsInScope } from './scope.ts'
import { mostCharacters } from './split-answer.ts'

/** An option of a slash command. */
interface CommandOption {
  readonly name: string
  readonly about: string
  readonly type: 'text' | 'number'
  readonly isRequired?: true
}

/** A slash command, as it is registered with Discord. */
export interface SlashDeclaration {
  readonly name: string
  readonly about: string
  /** The answer is visible only to the person who asked. */
  readonly isPrivate: boolean
  readonly options: readonly CommandOption[]
  /** By default, only people who may delete messages have the command in a server. */
  readonly isForModerators?: true
}

/** The slash commands. Those that show stored words answer privately. */
export const slashDeclarations: readonly SlashDeclaration[] = [
  { name: 'new', about: 'Start a new conversation here; the old one stays', isPrivate: false, options: [] },
  { name: 'stop', about: 'Stop the answer; what arrived is kept', isPrivate: false, options: [] },
  {
    name: 'clear',
    about: 'Move this conversation to the trash, after a question',
    isPrivate: true,
    options: [],
    isForModerators: true,
  },
  {
    name: 'history',
    about: 'Show the newest messages of this conversation, to you only',
    isPrivate: true,
    options: [{ name: 'count', about: 'How many; default 10', type: 'number' }],
  },
  {
    name: 'search',
    about: 'Search the conversations of this server or this direct message, for you only',
    isPrivate: true,
    options: [{ name: 'words', about: 'What to look for', type: 'text', isRequired: true }],
  },
  {
    name: 'fork',
    about: 'Continue from here on a branch: in a thread, or in place',
    isPrivate: false,
    options: [{ name: 'name', about: 'The name of the thread', type: 'text' }],
  },
  {
    name: 'model',
    about: 'Show or choose the model of this conversation',
    isPrivate: true,
    options: [{ name: 'name', about: 'A model or an alias', type: 'text' }],
  },
]

/** The name of the button that confirms `/clear`. */
export const confirmedClear = 'confirmed-clear'

/** What commands need of the channel. */
export interface CommandDeps {
  readonly store: ChannelStore
  /** The conversation of the place, if it has one. */
  find(): Promise<BranchInConversation | null>
  /** The conversation of the place, made if it has none. */
  make(): Promise<BranchInConversation>
  /** Stops the running answers of the place. Returns how many there were, and how many messages wait. */
  stop(): { readonly running: number; readonly waiting: number }
  readonly models: ModelChooser
  readonly isOwner: boolean
  /** The next turn of the conversation uses the model that is set now. */
  releaseAgent(conversationId: string): Promise<void>
}

/** The models that a conversation can have. */
export interface ModelChooser {
  /** The full name of the default model. */
  readonly standard: string
  /** Names that everyone may choose. */
  readonly names: readonly string[]
  /** The full name of a model that can be used. Throws an error with a text for people. */
  choose(name: string): Promise<string>
}

/** Runs a command and returns its answer. */
export async function runCommand(command: IncomingCommand, deps: CommandDeps): Promise<CommandAnswer> {
  switch (command.name) {
    case 'new':
      await startNew(deps.store, command, command.id)
      return { text: 'A new conversation begins here. The old one stays stored.' }
    case 'stop':
      return { text: stopText(deps.stop()) }
    case 'clear':
      return askToClear(deps)
    case confirmedClear:
      return clear(command, deps)
    case 'history':
      return history(command, deps)
    case 'search':
      return search(command, deps)
    case 'fork':
      return fork(command, deps)
    case 'model':
      return model(command, deps)
    default:
      return { text: 'This command does not exist any more.' }
  }
}

function stopText({ running, waiting }: ReturnType<CommandDeps['stop']>): string {
  if (running === 0) return 'No answer is running here.'
  const next = waiting === 0 ? '' : ` ${countOf(waiting, 'message')} will be answered next.`
  return `Stopped. What arrived is kept.${next}`
}

async function askToClear(deps: CommandDeps): Promise<CommandAnswer> {
  const found = await deps.find()
  if (!found || found.conversation.messages === 0) return { text: 'This conversation is empty.' }
  const { id, messages } = found.conversation
  return {
    text: `Move this conversation with ${countOf(messages, 'message')} to the trash? \`/new\` keeps it instead.`,
    button: { label: 'Move to trash', name: confirmedClear, argument: id },
  }
}

async function clear(command: IncomingCommand, deps: CommandDeps): Promise<CommandAnswer> {
  const asked = String(command.options.argument ?? '')
  const found = await deps.find()
  if (found?.conversation.id !== asked)
    return { text: 'Another conversation runs here now. Nothing was changed.' }
  const outcome = await clearPlace(deps.store, command, command.id, found.conversation.id)
  if (outcome === 'trashed')
    return {
      text: 'The conversation is in the trash. `skein restore` on the machine of the bot brings it back.',
    }
  return { text: 'Other places share this conversation, so it was not deleted. A new branch begins here.' }
}

const defaultCount = 10
const mostCount = 50

async function history({ options }: IncomingCommand, { store, find }: CommandDeps): Promise<CommandAnswer> {
  const found = await find()
  const head = found?.branch.head ?? null
  if (head === null) return { text: 'Nothing was said here yet.' }
  const count = Math.min(mostCount, Math.max(1, Number(options.count ?? defaultCount)))
  const { messages, older } = await store.tail(head, { messages: count }, { blobs: 'preview' })
  const shown = messages.slice(-count).flatMap(message => historyLine(message) ?? [])
  return { text: newestThatFit(shown, older > 0 || messages.length > count) }
}

/** Most characters of a message in a list. */
const mostOfMessage = 300

function historyLine(message: Message): string | null {
  const text = shortened(textOf(message))
  if (message.role !== 'user' && message.role !== 'assistant') return null
  const who = message.role === 'assistant' ? 'Bot' : (speakerOf(message)?.name ?? 'Someone')
  if (message.erased) return `**${plain(who)}**: (erased)`
  return text === '' ? null : `**${plain(who)}**: ${text}`
}

function newestThatFit(lines: readonly string[], isCut: boolean): string {
  const first = '-# Older messages are not shown.'
  let text = ''
  for (const line of lines.toReversed()) {
    const longer = text === '' ? line : `${line}\n${text}`
    if (longer.length + first.length + 1 > mostCharacters) return `${first}\n${text}`
    text = longer
  }
  if (text === '') return 'Nothing was said here yet.'
  return isCut ? `${first}\n${text}` : text
}

const mostHits = 10

async function search(command: IncomingCommand, { store }: CommandDeps): Promise<CommandAnswer> {
  const query = String(command.options.words ?? '')
  const scope = scopeOfPlace(command.place)
  const conversations = await conversationsInScope(store, scope, command.canSee)
  try {
    const options = { conversations, limit: mostHits, snippetLength: 160 }
    const { items, unindexed } = await collectHits(store, query, options)
    const unsaved = unsavedIn(store).branches.filter(({ branch }) =>
      conversations.includes(branch.conversationId),
    )
    const count = unsaved.reduce((sum, { messages }) => sum + messages.length, 0)
    const note = notSearchedNote(unindexed, count)
    if (items.length === 0)
      return { text: note === null ? 'Nothing was found.' : `Nothing was found. ${note}` }
    const lines = items.map(({ message, conversation, snippet }) => {
      const who = message.role === 'assistant' ? 'Bot' : (speakerOf(message)?.name ?? message.role)
      const when = `<t:${Math.floor(message.createdAt.getTime() / 1_000)}:d>`
      const where = conversation.title === null ? '' : ` ${plain(conversation.title)}`
      return `${when}${where} **${plain(who)}**: ${shortened(snippet.text)}`
    })
    return { text: newestThatFit([...lines.toReversed(), ...(note === null ? [] : [`-# ${note}`])], false) }
  } catch (error) {
    if (error instanceof InvalidError) return { text: `The search cannot be read: ${error.message}` }
    throw error
  }
}

async function fork(command: IncomingCommand, { store, find }: CommandDeps): Promise<CommandAnswer> {
  const found = await find()
  if (!found || found.branch.head === null)
    return { text: 'Nothing was said here yet, so there is nothing to fork.' }
  const title = String(command.options.name ?? '').trim() || 'Fork'
  const threadId = command.place.kind === 'channel' ? await command.createThread(title) : null
  if (threadId === null) {
    const { name } = await forkHere(store, found)
    return { text: `Here it continues on the branch ${asCode(name)}. The old branch stays.` }
  }
  await forkToThread(store, found, threadId, title)
  return { text: `<#${threadId}> continues from here. Nothing was copied.` }
}

async function model(command: IncomingCommand, deps: CommandDeps): Promise<CommandAnswer> {
  const { store, models, isOwner } = deps
  const name = String(command.options.name ?? '').trim()
  if (name === '') {
    const current = (await deps.find())?.conversation.model ?? models.standard
    const others = models.names.length === 0 ? '' : ` To choose: ${models.names.map(plain).join(', ')}`
    return { text: `This conversation uses ${asCode(current)}.${others}` }
  }
  if (!isOwner && !models.names.includes(name)) {
    const known = models.names.length === 0 ? 'none are configured' : models.names.map(plain).join(', ')
    return { text: `You can choose one of the configured names: ${known}. The owner can choose any model.` }
  }
  const chosen = await models.choose(name).catch((error: unknown) => {
    if (error instanceof Error) return error
    throw error
  })
  if (chosen instanceof Error)
    return { text: `That model cannot be used: ${plain(chosen.message).slice(0, 300)}` }
  const { conversation } = await deps.make()
  await store.updateConversation(conversation.id, { model: chosen })
  await deps.releaseAgent(conversation.id)
  return { text: `From the next message on, ${asCode(chosen)} answers here.` }
}

function countOf(n: number, what: string): string {
  return `${n} ${what}${n === 1 ? '' : 's'}`
}

/** One line, cut at a character. */
function shortened(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  const characters = [...line]
  return characters.length <= mostOfMessage ? line : `${characters.slice(0, mostOfMessage - 1).join('')}…`
}

function asCode(text: string): string {
  return `\`${text.replaceAll('`', "'")}\``
}

/** A name without Markdown. */
function plain(text: string): string {
  return text.replaceAll(/[\\*_`~|<>[\]]/g, '\\$&').replaceAll(/\s+/g, ' ')
}
