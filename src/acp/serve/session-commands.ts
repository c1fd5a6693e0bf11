import type { AvailableCommand, ContentBlock } from '@agentclientprotocol/sdk/unstable'
import { summarize } from '../../context/summary/summarize.ts'
import type { BranchRef } from '../../core/branch.ts'
import { collapseSpaces } from '../../core/collapse-spaces.ts'
import { collectHits, notSearchedNote } from '../../core/collect-hits.ts'
import { InvalidError } from '../../core/errors.ts'
import type { SearchHit } from '../../core/listing.ts'
import { unsavedIn } from '../../recorder/waiting-turns.ts'
import { forkBranch } from '../sessions/fork-branch.ts'
import type { AgentParts, OfferedModel, ServeStore } from './serve-options.ts'

/** The slash commands of our own agent, as clients list them. A prompt that begins with one is answered by us
 *  and is not part of the conversation. */
export const sessionCommands: readonly AvailableCommand[] = [
  { name: 'fork', description: 'Make another session with this conversation; nothing is copied' },
  {
    name: 'search',
    description: 'Find anything said in the conversations of this project',
    input: { hint: 'words' },
  },
  { name: 'model', description: 'Show or change the model', input: { hint: 'name' } },
  {
    name: 'compact',
    description: 'Replace old messages by a summary in model calls; all are kept',
    input: { hint: 'what to mind' },
  },
]

/** A prompt that is a command. */
export interface SessionCommand {
  readonly name: string
  readonly argument: string
}

/** The command in a prompt; null if it is text for the model. */
export function commandIn(prompt: readonly ContentBlock[]): SessionCommand | null {
  const [only, ...rest] = prompt
  if (only?.type !== 'text' || rest.length > 0) return null
  const [, name, argument = ''] = /^\/([a-z]+)(?:\s+([\s\S]*))?$/.exec(only.text.trim()) ?? []
  const isKnown = sessionCommands.some(command => command.name === name)
  return name !== undefined && isKnown ? { name, argument: argument.trim() } : null
}

/** What a command needs of its session. */
export interface CommandSetting {
  readonly store: ServeStore
  /** Null before the first prompt. */
  readonly branch: BranchRef | null
  readonly cwd: string
  readonly models: readonly OfferedModel[]
  readonly model: string
  readonly signal: AbortSignal
  newId(): string
  setModel(model: string): Promise<void>
  parts(): Promise<AgentParts>
}

/** Runs a command. Returns the answer, in Markdown. */
export async function runSessionCommand(
  { name, argument }: SessionCommand,
  setting: CommandSetting,
): Promise<string> {
  if (name === 'model') return changeModel(argument, setting)
  if (name === 'search') return search(argument, setting)
  if (setting.branch === null) return 'There are no messages here yet.'
  return name === 'fork' ? fork(setting.branch, setting) : compact(setting.branch, argument, setting)
}

async function changeModel(wanted: string, { models, model, setModel }: CommandSetting): Promise<string> {
  const listed = models.map(({ id, name }) => `- ${name}${name === id ? '' : ` (\`${id}\`)`}`)
  if (wanted === '')
    return [`The model is \`${model}\`. \`/model <name>\` changes it:`, '', ...listed].join('\n')
  const found = models.find(({ id, name }) => id === wanted || name === wanted)
  if (!found) return [`There is no model ${wanted} to choose. There are:`, '', ...listed].join('\n')
  await setModel(found.id)
  return `${found.name} answers from here on.`
}

/** Most hits that a search shows. */
const mostHits = 10

async function search(words: string, { store, cwd, signal }: CommandSetting): Promise<string> {
  if (words === '') return 'Give the words to look for: `/search certificate`.'
  try {
    const { items, unindexed } = await collectHits(store, words, { directory: cwd, limit: mostHits, signal })
    const found =
      items.length === 0 ? `Nothing in this project contains ${words}.` : items.map(hitLine).join('\n')
    const note = notSearchedNote(unindexed, unsavedIn(store).messages.length)
    return note === null ? found : `${found}\n\n${note}`
  } catch (error) {
    if (error instanceof InvalidError) return `The search cannot be read: ${error.message}`
    throw error
  }
}

function hitLine({ conversation, message, snippet }: SearchHit): string {
  const title = conversation.title === null ? '' : `**${collapseSpaces(conversation.title)}** · `
  const day = message.createdAt.toISOString().slice(0, 10)
  return `- ${title}${day} · ${collapseSpaces(snippet.text)} · \`skein show ${message.id.slice(0, 8)}\``
}

async function fork(branch: BranchRef, { store, newId }: CommandSetting): Promise<string> {
  const id = newId()
  const { name } = await forkBranch(store, branch, id)
  return `Another session begins with this conversation: branch ${name}, session \`${id}\`. It is in the list of sessions, and this one stays as it is.`
}

async function compact(
  branch: BranchRef,
  instructions: string,
  { store, signal, parts }: CommandSetting,
): Promise<string> {
  const { head } = await store.getBranch(branch)
  const { model, window } = await parts()
  const nothing = 'There is nothing to summarise yet: the newest messages are never summarised.'
  if (head === null) return nothing
  const { outcome, summary, messages } = await summarize(
    store,
    { conversationId: branch.conversationId, head },
    {
      model,
      signal,
      ...(window?.limit !== undefined && { window: { limit: window.limit } }),
      ...(instructions !== '' && { instructions }),
    },
  )
  if (outcome === 'busy') return 'Another process is making a summary here. Try again in a moment.'
  if (summary === null || messages === 0) return nothing
  return `${messages} messages are ${summary.tokens} tokens in model calls now. All are kept.`
}
