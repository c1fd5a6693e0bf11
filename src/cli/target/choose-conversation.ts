import type { Target } from '../../agent/history/history.ts'
import type { BranchInfo, BranchRef } from '../../core/branch.ts'
import type { Conversation, NewConversation } from '../../core/conversation.ts'
import { KeyReusedError, NotFoundError } from '../../core/errors.ts'
import type { MessageId } from '../../core/ids.ts'
import { itemsOf } from '../../core/pages.ts'
import type {
  BranchInConversation,
  ConversationReader,
  ConversationWriter,
  Lister,
  Resolved,
} from '../../core/ports.ts'
import type { Args } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { shortenId } from '../output/short-id.ts'
import { tildify } from '../output/tildify.ts'
import { formatAge } from '../output/time.ts'
import { skeinCommand } from '../store/skein-command.ts'
import { type BranchStatus, readBranchStatus, readStatusAt, type StatusStore } from './branch-status.ts'
import { findNamed } from './find-named.ts'
import type { KeptSettings } from './kept-settings.ts'
import { newestHere } from './newest-here.ts'
import { findByOwnKey, ownKey } from './own-key.ts'
import { createFork, isAnswered, type PlannedFork, planFork } from './planned-fork.ts'
import { isInProject } from './scope.ts'
import { type TargetFlags, targetFlags } from './target-flags.ts'

/** The conversation to continue, and how it was chosen. The header prints it before the model is called. */
export interface ChosenConversation {
  /** `fresh`: there was nothing to continue. */
  readonly how: 'continued' | 'new' | 'forked' | 'fresh' | 'incognito'
  /** Null for a new conversation. */
  readonly status: BranchStatus | null
  readonly fork: PlannedFork | null
  /** Further notes, without the `!`. */
  readonly notes: readonly string[]
  /** The words after `-c`, if they are the prompt. */
  readonly prompt: string | null
  /** Creates the conversation or branch if needed, and returns where to send. Called right before the first
   *  message, so that a chat without messages creates nothing. A new branch is named after `words`; null
   *  answers the last message again. */
  enter(settings: KeptSettings, words: string | null): Promise<Target>
}

/** Chooses a conversation by the flags. Default: the newest main conversation of this directory, or a new
 *  one. `--incognito` opens no store. Throws UsageError, NotFoundError and AmbiguousIdError. */
export async function chooseConversation(args: Args, context: CommandContext): Promise<ChosenConversation> {
  const wishes = targetFlags(args)
  if (wishes.incognito) return incognito
  const store = await context.store()
  if (wishes.isNew) return startNew(wishes.name, store, context)
  if (wishes.name !== null) return byName(wishes.name, store, context)
  const id = wishes.resume ?? wishes.continueWith
  if (id === null || id === '') return newest(wishes, store, context, null)
  const found = await findNamed(id, store, context)
  if (found) return chooseNamed(id, found, wishes, store, context)
  if (!wishes.mayBePrompt) throw new NotFoundError('id', id)
  return newest(wishes, store, context, id)
}

const incognito: ChosenConversation = {
  how: 'incognito',
  status: null,
  fork: null,
  notes: [],
  prompt: null,
  enter: async () => 'incognito',
}

/** Continues a named conversation on one of its branches, or forks at a named message. */
export async function chooseNamed(
  named: string,
  found: Resolved,
  { force }: Pick<TargetFlags, 'force'>,
  store: StatusStore & ConversationWriter,
  context: CommandContext,
): Promise<ChosenConversation> {
  checkOwnership(named, found.conversation, force, context)
  const notes = expiryNotes(found.conversation, context)
  if (found.message === null) return continued(store, found, notes)
  let branch: BranchInfo | undefined
  for await (const one of itemsOf(page => store.listBranches(found.conversation.id, page)))
    if (one.head === found.message && (branch === undefined || one.active)) branch = one
  if (branch && !(await isAnswered(store, found.message)))
    return continued(store, { ...found, branch }, notes)
  return chooseFork(store, found, found.message, { notes })
}

/** Forks at a message, or before the first one. The branch is created with its first message. With `movesKey`
 *  it takes the key of the branch that it leaves, so that the next chat with this key continues it. */
export async function chooseFork(
  store: StatusStore & ConversationWriter,
  from: BranchInConversation,
  at: MessageId | null,
  { notes = [], movesKey = false }: { readonly notes?: readonly string[]; readonly movesKey?: boolean } = {},
): Promise<ChosenConversation> {
  const fork = await planFork(store, from.conversation, at, from.branch.name)
  return {
    how: 'forked',
    status: await readStatusAt(store, from, at),
    fork,
    notes,
    prompt: null,
    async enter(settings, words) {
      const made = await createFork(store, fork, words)
      await store.activateBranch(made)
      await storeChange(store, from.conversation, settings)
      const { key } = await store.getBranch(from.branch)
      if (movesKey && key !== null) await moveKey(store, key, made)
      return made
    },
  }
}

/** Refuses a conversation of another project or of another program (C16). */
export function checkOwnership(
  named: string,
  { directory, owner }: Conversation,
  force: boolean,
  context: CommandContext,
): void {
  if (owner !== null)
    throw new UsageError(
      `${named} belongs to ${owner}, which alone writes it`,
      `Read it: skein show ${named}. Continue a copy: skein fork ${named}`,
    )
  if (directory !== null && !force && !isInProject(directory, context))
    throw new UsageError(`${named} belongs to ${tildify(directory, context.env)}`, 'Go there, or add --force')
}

function expiryNotes({ expiresAt }: Conversation, context: CommandContext): readonly string[] {
  const expired = expiresAt !== null && expiresAt.getTime() <= context.now()
  return expired ? [`expired ${since(expiresAt, context)}, continuing`] : []
}

async function continued(
  store: StatusStore & ConversationWriter,
  found: BranchInConversation,
  notes: readonly string[] = [],
): Promise<ChosenConversation> {
  const status = await readBranchStatus(store, found)
  const { conversation, branch } = status
  return {
    how: status.head === null ? 'new' : 'continued',
    status,
    fork: null,
    notes,
    prompt: null,
    async enter(settings) {
      await storeChange(store, conversation, settings)
      // The branch that was used last is continued next time.
      if (conversation.activeBranch !== branch.name) await store.activateBranch(branch)
      return { conversationId: conversation.id, name: branch.name }
    },
  }
}

/** The conversation of this project with this name, or a new one. */
async function byName(
  name: string,
  store: StatusStore & ConversationWriter & Lister,
  context: CommandContext,
): Promise<ChosenConversation> {
  const found = await findByOwnKey(name, store, context)
  if (found) return continued(store, found)
  const key = ownKey(name, context)
  return fresh('new', await formerNotes(key, store, context), async ({ ofNew }) => ({
    key,
    ...wanted(context),
    ...ofNew,
  }))
}

/** Notes that the previous conversation with this key has expired but still exists. */
async function formerNotes(
  key: string,
  store: Pick<ConversationReader, 'resolve'>,
  context: CommandContext,
): Promise<readonly string[]> {
  try {
    const { conversation } = await store.resolve(key)
    const { expiresAt } = conversation
    return expiresAt === null || expiresAt.getTime() > context.now()
      ? []
      : [expiredNote(conversation, context)]
  } catch (error) {
    if (error instanceof NotFoundError) return []
    throw error
  }
}

async function newest(
  wishes: TargetFlags,
  store: StatusStore & ConversationWriter & Lister,
  context: CommandContext,
  prompt: string | null,
): Promise<ChosenConversation> {
  const { newest: found, expired } = await newestHere(store, context)
  if (found) return { ...(await continued(store, found)), prompt }
  const key = ownKey('default', context)
  const notes = expired ? [expiredNote(expired, context)] : []
  const how = wishes.continueWith !== null || expired ? 'fresh' : 'new'
  const made = await fresh(how, notes, async settings => {
    const holder = await store.findByKey(key)
    // A conversation of another program or directory may hold the key. If a conversation of this project
    // holds it, another process has just created it.
    const directory = holder?.conversation.directory ?? null
    const isTaken = holder !== null && (directory === null || !isInProject(directory, context))
    return isTaken ? begin(store, key, context, settings) : { key, ...wanted(context), ...settings.ofNew }
  })
  return { ...made, prompt }
}

function startNew(
  name: string | null,
  store: KeyStore,
  context: CommandContext,
): Promise<ChosenConversation> {
  const key = ownKey(name ?? 'default', context)
  return fresh('new', [], settings => begin(store, key, context, settings))
}

async function fresh(
  how: 'new' | 'fresh',
  notes: readonly string[],
  enter: ChosenConversation['enter'],
): Promise<ChosenConversation> {
  return { how, status: null, fork: null, notes, prompt: null, enter }
}

type KeyStore = Pick<ConversationReader, 'findByKey'> & Pick<ConversationWriter, 'create' | 'setKey'>

/** Creates a conversation that takes the key. The previous one keeps its id. */
async function begin(
  store: KeyStore,
  key: string,
  context: CommandContext,
  { ofNew }: KeptSettings,
): Promise<Target> {
  const { branch } = await store.create({ ...wanted(context), ...ofNew })
  await moveKey(store, key, branch)
  return { conversationId: branch.conversationId, name: branch.name }
}

/** Stores a model or a system prompt that the user has changed. */
async function storeChange(
  store: Pick<ConversationWriter, 'updateConversation'>,
  conversation: Conversation,
  settings: KeptSettings,
): Promise<void> {
  const change = settings.changeOf(conversation)
  if (change !== null) await store.updateConversation(conversation.id, change)
}

function wanted({ cwd }: CommandContext): Pick<NewConversation, 'directory' | 'channel'> {
  return { directory: cwd, channel: 'cli' }
}

function expiredNote({ id, title, expiresAt }: Conversation, context: CommandContext): string {
  const what = title === null ? shortenId(id) : `"${title}"`
  return `${what} expired ${since(expiresAt!, context)}. Continue it: ${skeinCommand(context)} -c ${shortenId(id)}`
}

function since(date: Date, context: CommandContext): string {
  const text = formatAge(date, context.now())
  return text === 'now' ? 'just now' : /^\d+[mhd]$/.test(text) ? `${text} ago` : `on ${text}`
}

/** Concurrent writers take turns. This many failures are not a coincidence. */
const mostTries = 20

/** Gives a key to a branch, and takes it from its holder, which keeps its id. */
async function moveKey(
  store: Pick<ConversationReader & ConversationWriter, 'findByKey' | 'setKey'>,
  key: string,
  to: BranchRef,
): Promise<void> {
  for (let tries = 1; ; tries++) {
    const holder = await store.findByKey(key)
    if (holder) await store.setKey(holder.branch, null)
    try {
      await store.setKey(to, key)
      return
    } catch (error) {
      if (!(error instanceof KeyReusedError) || tries === mostTries) throw error
    }
  }
}
