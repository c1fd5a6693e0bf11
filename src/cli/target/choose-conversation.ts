import type { Target } from '../../agent/journal.ts'
import type { Conversation, NewConversation } from '../../core/conversation.ts'
import { NotFoundError } from '../../core/errors.ts'
import type {
  BranchInConversation,
  ConversationReader,
  ConversationWriter,
  Lister,
  Resolved,
} from '../../core/ports.ts'
import type { Given } from '../command-line/command.ts'
import type { World } from '../command-line/command-context.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { shortened } from '../output/short-id.ts'
import { homely } from '../output/tildify.ts'
import { age } from '../output/time.ts'
import type { StoreLocation } from '../store/store-location.ts'
import { type Standing, type StatusStore, standingAt, standingOn } from './branch-status.ts'
import { findNamed, looksLikeId } from './find-named.ts'
import { moveKey } from './move-key.ts'
import { newestHere } from './newest-here.ts'
import { type Fork, forkAt, isAnswered, makeFork } from './planned-fork.ts'
import { type Wishes, wishesOf } from './target-flags.ts'

/** Which conversation is talked in, and how it was found: said before the model is called. */
export interface Chosen {
  /** `fresh`: a conversation was to be gone on with, and there is none. */
  readonly how: 'continued' | 'new' | 'forked' | 'fresh' | 'incognito'
  /** Where it stands; null if there is nothing yet. */
  readonly standing: Standing | null
  readonly fork: Fork | null
  /** What else a person has to know, without the `!`. */
  readonly notes: readonly string[]
  /** The word after `-c`, if it is no id: then it is the beginning of the prompt. */
  readonly word: string | null
  /** Makes what has to be made, and says whom to send to. Called right before the first message: whoever looks
   *  and leaves, leaves nothing behind. */
  enter(model: string): Promise<Target>
}

/** Chooses by the flags. Without any: the newest main conversation of this directory, and a new one where there is none.
 *  With `--incognito` no store is opened. Throws UsageError, NotFoundError and AmbiguousIdError. */
export async function chooseConversation(given: Given, world: World): Promise<Chosen> {
  const wishes = wishesOf(given)
  if (wishes.incognito) return incognito
  const store = await world.store()
  if (wishes.isNew) return startNew(wishes.name, store, world)
  if (wishes.name !== null) return byName(wishes.name, store, world)
  const id = wishes.resume ?? wishes.goOn
  if (id === null || id === '') return newest(wishes, store, world, null)
  const found = await findNamed(id, store, world)
  if (found) return goOnWith(id, found, wishes, store, world)
  if (wishes.resume !== null || looksLikeId(id)) throw new NotFoundError('id', id)
  return newest(wishes, store, world, id)
}

const incognito: Chosen = {
  how: 'incognito',
  standing: null,
  fork: null,
  notes: [],
  word: null,
  enter: async () => 'incognito',
}

/** What was named: a conversation at one of its branches, or a message. */
export async function goOnWith(
  named: string,
  found: Resolved,
  { force }: Pick<Wishes, 'force'>,
  store: StatusStore & ConversationWriter,
  world: World,
): Promise<Chosen> {
  checkOurs(named, found.conversation, force, world)
  const notes = expiryNotes(found.conversation, world)
  if (found.message === null) return continued(store, found, notes)
  const branches = await store.listBranches(found.conversation.id)
  const ending = branches.filter(branch => branch.head === found.message)
  const branch = ending.find(one => one.active) ?? ending[0]
  if (branch && !(await isAnswered(store, found.message)))
    return continued(store, { ...found, branch }, notes)
  const fork = await forkAt(store, found.conversation, found.message)
  return {
    how: 'forked',
    standing: await standingAt(store, found, found.message),
    fork,
    notes,
    word: null,
    async enter() {
      const made = await makeFork(store, fork)
      await store.activateBranch(made)
      return made
    },
  }
}

/** A conversation of another directory, or of another program, is not gone on with by mistake (C16). */
export function checkOurs(
  named: string,
  { directory, owner }: Conversation,
  force: boolean,
  { cwd, env }: World,
): void {
  if (owner !== null)
    throw new UsageError(
      `${named} belongs to ${owner}, which alone writes it`,
      `skein show ${named} reads it`,
    )
  if (directory !== null && directory !== cwd && !force)
    throw new UsageError(`${named} belongs to ${homely(directory, env)}`, 'Go there, or add --force')
}

function expiryNotes({ expiresAt }: Conversation, world: World): readonly string[] {
  const expired = expiresAt !== null && expiresAt.getTime() <= world.now()
  return expired ? [`expired ${since(expiresAt, world)}, going on`] : []
}

async function continued(
  store: StatusStore & ConversationWriter,
  place: BranchInConversation,
  notes: readonly string[] = [],
): Promise<Chosen> {
  const standing = await standingOn(store, place)
  const { conversation, branch } = standing
  return {
    how: standing.head === null ? 'new' : 'continued',
    standing,
    fork: null,
    notes,
    word: null,
    async enter() {
      // Whoever talks on a branch goes on with it next time.
      if (conversation.activeBranch !== branch.name) await store.activateBranch(branch)
      return { conversationId: conversation.id, name: branch.name }
    },
  }
}

/** The conversation with a name: whoever gives the name gets the one of this directory, made if there is none. */
async function byName(name: string, store: StatusStore & ConversationWriter, world: World): Promise<Chosen> {
  const key = keyOf(name, world.place(), world.cwd)
  const place = await store.findByKey(key)
  if (place) return continued(store, place)
  return fresh('new', await formerNotes(key, store, world), async () => ({ key, ...wanted(world) }))
}

/** The key's last holder has expired: what was said is not gone, and nobody should think so. */
async function formerNotes(
  key: string,
  store: Pick<ConversationReader, 'resolve'>,
  world: World,
): Promise<readonly string[]> {
  try {
    const { conversation } = await store.resolve(key)
    const { expiresAt } = conversation
    return expiresAt === null || expiresAt.getTime() > world.now() ? [] : [expiredNote(conversation, world)]
  } catch (error) {
    if (error instanceof NotFoundError) return []
    throw error
  }
}

async function newest(
  wishes: Wishes,
  store: StatusStore & ConversationWriter & Lister,
  world: World,
  word: string | null,
): Promise<Chosen> {
  const { place, expired } = await newestHere(store, world)
  if (place) return { ...(await continued(store, place)), word }
  const key = keyOf('default', world.place(), world.cwd)
  const notes = expired ? [expiredNote(expired, world)] : []
  const how = wishes.goOn !== null || expired ? 'fresh' : 'new'
  const made = await fresh(how, notes, async model => {
    const holder = await store.findByKey(key)
    // In a project's store another directory of the project may have it. In this directory, somebody has just begun.
    const isTaken = holder !== null && holder.conversation.directory !== world.cwd
    return isTaken ? begin(store, key, world, model) : { key, ...wanted(world) }
  })
  return { ...made, word }
}

function startNew(name: string | null, store: KeyStore, world: World): Promise<Chosen> {
  const key = keyOf(name ?? 'default', world.place(), world.cwd)
  return fresh('new', [], model => begin(store, key, world, model))
}

async function fresh(
  how: 'new' | 'fresh',
  notes: readonly string[],
  enter: (model: string) => Promise<Target>,
): Promise<Chosen> {
  return { how, standing: null, fork: null, notes, word: null, enter }
}

type KeyStore = Pick<ConversationReader, 'findByKey'> & Pick<ConversationWriter, 'create' | 'setKey'>

/** A new conversation takes the key; the one that had it keeps its id. */
async function begin(store: KeyStore, key: string, world: World, model: string): Promise<Target> {
  const { branch } = await store.create({ ...wanted(world), model })
  await moveKey(store, key, branch)
  return { conversationId: branch.conversationId, name: branch.name }
}

function wanted({ cwd }: World): Pick<NewConversation, 'directory' | 'channel'> {
  return { directory: cwd, channel: 'cli' }
}

function expiredNote({ id, title, expiresAt }: Conversation, world: World): string {
  const what = title === null ? shortened(id) : `"${title}"`
  return `${what} expired ${since(expiresAt!, world)}. Go on with it: skein -c ${shortened(id)}`
}

function since(date: Date, world: World): string {
  const text = age(date, world.now())
  return text === 'now' ? 'just now' : /^\d+[mhd]$/.test(text) ? `${text} ago` : `on ${text}`
}

/** The key of a named conversation: a directory's own in the user's store, plain in a project's. */
function keyOf(name: string, location: StoreLocation, cwd: string): string {
  return location.kind === 'project' ? `cli:${name}` : `cli:${name}@${cwd}`
}
