import type { Target } from '../../agent/history/history.ts'
import type { Conversation, NewConversation } from '../../core/conversation.ts'
import { NotFoundError } from '../../core/errors.ts'
import { collectPages } from '../../core/pages.ts'
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
import type { StoreLocation } from '../store/store-location.ts'
import { type BranchStatus, readBranchStatus, readStatusAt, type StatusStore } from './branch-status.ts'
import { findNamed, looksLikeId } from './find-named.ts'
import { moveKey } from './move-key.ts'
import { newestHere } from './newest-here.ts'
import { createFork, isAnswered, type PlannedFork, planFork } from './planned-fork.ts'
import { type TargetFlags, targetFlags } from './target-flags.ts'

/** Which conversation is talked in, and how it was found: said before the model is called. */
export interface ChosenConversation {
  /** `fresh`: a conversation was to be gone on with, and there is none. */
  readonly how: 'continued' | 'new' | 'forked' | 'fresh' | 'incognito'
  /** Where it stands; null if there is nothing yet. */
  readonly status: BranchStatus | null
  readonly fork: PlannedFork | null
  /** What else a person has to know, without the `!`. */
  readonly notes: readonly string[]
  /** The word after `-c`, if it is no id: then it is the beginning of the prompt. */
  readonly promptWord: string | null
  /** Makes what has to be made, and says whom to send to. Called right before the first message: whoever looks
   *  and leaves, leaves nothing behind. */
  enter(model: string): Promise<Target>
}

/** Chooses by the flags. Without any: the newest main conversation of this directory, and a new one where there is none.
 *  With `--incognito` no store is opened. Throws UsageError, NotFoundError and AmbiguousIdError. */
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
  if (wishes.resume !== null || looksLikeId(id)) throw new NotFoundError('id', id)
  return newest(wishes, store, context, id)
}

const incognito: ChosenConversation = {
  how: 'incognito',
  status: null,
  fork: null,
  notes: [],
  promptWord: null,
  enter: async () => 'incognito',
}

/** What was named: a conversation at one of its branches, or a message. */
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
  const branches = await collectPages(page => store.listBranches(found.conversation.id, page))
  const ending = branches.filter(branch => branch.head === found.message)
  const branch = ending.find(one => one.active) ?? ending[0]
  if (branch && !(await isAnswered(store, found.message)))
    return continued(store, { ...found, branch }, notes)
  const fork = await planFork(store, found.conversation, found.message)
  return {
    how: 'forked',
    status: await readStatusAt(store, found, found.message),
    fork,
    notes,
    promptWord: null,
    async enter() {
      const made = await createFork(store, fork)
      await store.activateBranch(made)
      return made
    },
  }
}

/** A conversation of another directory, or of another program, is not gone on with by mistake (C16). */
export function checkOwnership(
  named: string,
  { directory, owner }: Conversation,
  force: boolean,
  { cwd, env }: CommandContext,
): void {
  if (owner !== null)
    throw new UsageError(
      `${named} belongs to ${owner}, which alone writes it`,
      `skein show ${named} reads it`,
    )
  if (directory !== null && directory !== cwd && !force)
    throw new UsageError(`${named} belongs to ${tildify(directory, env)}`, 'Go there, or add --force')
}

function expiryNotes({ expiresAt }: Conversation, context: CommandContext): readonly string[] {
  const expired = expiresAt !== null && expiresAt.getTime() <= context.now()
  return expired ? [`expired ${since(expiresAt, context)}, going on`] : []
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
    promptWord: null,
    async enter() {
      // Whoever talks on a branch goes on with it next time.
      if (conversation.activeBranch !== branch.name) await store.activateBranch(branch)
      return { conversationId: conversation.id, name: branch.name }
    },
  }
}

/** The conversation with a name: whoever gives the name gets the one of this directory, made if there is none. */
async function byName(
  name: string,
  store: StatusStore & ConversationWriter,
  context: CommandContext,
): Promise<ChosenConversation> {
  const key = keyOf(name, context.location(), context.cwd)
  const found = await store.findByKey(key)
  if (found) return continued(store, found)
  return fresh('new', await formerNotes(key, store, context), async () => ({ key, ...wanted(context) }))
}

/** The key's last holder has expired: what was said is not gone, and nobody should think so. */
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
  word: string | null,
): Promise<ChosenConversation> {
  const { newest: found, expired } = await newestHere(store, context)
  if (found) return { ...(await continued(store, found)), promptWord: word }
  const key = keyOf('default', context.location(), context.cwd)
  const notes = expired ? [expiredNote(expired, context)] : []
  const how = wishes.continueWith !== null || expired ? 'fresh' : 'new'
  const made = await fresh(how, notes, async model => {
    const holder = await store.findByKey(key)
    // In a project's store another directory of the project may have it. In this directory, somebody has just begun.
    const isTaken = holder !== null && holder.conversation.directory !== context.cwd
    return isTaken ? begin(store, key, context, model) : { key, ...wanted(context) }
  })
  return { ...made, promptWord: word }
}

function startNew(
  name: string | null,
  store: KeyStore,
  context: CommandContext,
): Promise<ChosenConversation> {
  const key = keyOf(name ?? 'default', context.location(), context.cwd)
  return fresh('new', [], model => begin(store, key, context, model))
}

async function fresh(
  how: 'new' | 'fresh',
  notes: readonly string[],
  enter: (model: string) => Promise<Target>,
): Promise<ChosenConversation> {
  return { how, status: null, fork: null, notes, promptWord: null, enter }
}

type KeyStore = Pick<ConversationReader, 'findByKey'> & Pick<ConversationWriter, 'create' | 'setKey'>

/** A new conversation takes the key; the one that had it keeps its id. */
async function begin(store: KeyStore, key: string, context: CommandContext, model: string): Promise<Target> {
  const { branch } = await store.create({ ...wanted(context), model })
  await moveKey(store, key, branch)
  return { conversationId: branch.conversationId, name: branch.name }
}

function wanted({ cwd }: CommandContext): Pick<NewConversation, 'directory' | 'channel'> {
  return { directory: cwd, channel: 'cli' }
}

function expiredNote({ id, title, expiresAt }: Conversation, context: CommandContext): string {
  const what = title === null ? shortenId(id) : `"${title}"`
  return `${what} expired ${since(expiresAt!, context)}. Go on with it: skein -c ${shortenId(id)}`
}

function since(date: Date, context: CommandContext): string {
  const text = formatAge(date, context.now())
  return text === 'now' ? 'just now' : /^\d+[mhd]$/.test(text) ? `${text} ago` : `on ${text}`
}

/** The key of a named conversation: a directory's own in the user's store, plain in a project's. */
function keyOf(name: string, location: StoreLocation, cwd: string): string {
  return location.kind === 'project' ? `cli:${name}` : `cli:${name}@${cwd}`
}
