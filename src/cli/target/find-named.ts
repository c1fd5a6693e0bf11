import { AmbiguousIdError, InvalidError, NotFoundError } from '../../core/errors.ts'
import type { ListedConversation } from '../../core/listing.ts'
import { itemsOf } from '../../core/pages.ts'
import type { BranchInConversation, ConversationReader, Lister, Resolved } from '../../core/ports.ts'
import { findTaskTarget } from '../../core/task-target.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { findByOwnKey } from './own-key.ts'
import { isInProject, projectDirectories } from './scope.ts'

type NameStore = Pick<ConversationReader, 'resolve' | 'findByKey' | 'listBranches'> &
  Pick<Lister, 'listConversations' | 'listDirectories'>

/** Where a name is looked up. */
export type NameScope = Pick<CommandContext, 'cwd' | 'env' | 'location'>

/** The number of conversations that are searched for a branch name. */
const mostLookedAt = 50

/** What a user typed in the place of an id: an id prefix, `id:branch`, a key, the name of a branch in a
 *  conversation of this project, newest first, or the title of one conversation. Null if nothing matches.
 *  Throws AmbiguousIdError, and NotFoundError for a trashed conversation. */
export async function findNamed(
  word: string,
  store: NameStore,
  context: NameScope,
): Promise<Resolved | null> {
  const found = await lookUp(word, store, context, true)
  if (found && found.conversation.trashedAt !== null)
    throw new NotFoundError('conversation', word, { trashed: true })
  return found
}

/** The same, for commands that only read. A trashed conversation is found by its id. Throws NotFoundError if
 *  nothing matches. */
export async function needNamed(word: string, store: NameStore, context: NameScope): Promise<Resolved> {
  return found(word, await lookUp(word, store, context, true))
}

/** The same without names of branches, for commands that change a whole conversation: the name of a branch
 *  names a part of it. */
export async function needIdOrTitle(word: string, store: NameStore, context: NameScope): Promise<Resolved> {
  return found(word, await lookUp(word, store, context, false))
}

/** A conversation by its id or key, or by the title of one in the trash. */
export async function needTrashed(word: string, store: NameStore, context: NameScope): Promise<Resolved> {
  const byId = await resolveId(word, store)
  if (byId) return byId
  const titled = await byTitle(word, store, context, { trashed: true })
  return found(word, titled && { ...titled, message: null })
}

function found(word: string, resolved: Resolved | null): Resolved {
  if (!resolved) throw new NotFoundError('id', word)
  return resolved
}

async function lookUp(
  word: string,
  store: NameStore,
  context: NameScope,
  branches: boolean,
): Promise<Resolved | null> {
  if (word.trim() === '') return null
  const byId = await resolveId(word, store)
  if (byId) return byId
  const ofTask = await byTask(word, store)
  if (ofTask) return { ...ofTask, message: null }
  const named =
    (await byOwnKey(word, store, context)) ??
    (branches ? await byBranch(word, store, context) : null) ??
    (await byTitle(word, store, context))
  return named && { ...named, message: null }
}

async function resolveId(word: string, store: Pick<NameStore, 'resolve'>): Promise<Resolved | null> {
  try {
    return await store.resolve(word)
  } catch (error) {
    const isUnknown = error instanceof InvalidError || (error instanceof NotFoundError && !error.trashed)
    if (!isUnknown) throw error
    return null
  }
}

async function byTask(
  word: string,
  store: Pick<NameStore, 'listConversations'>,
): Promise<BranchInConversation | null> {
  const found = await findTaskTarget(store, word)
  return found && withoutBranch(found)
}

/** A key as the user types it. In the user's store, the folder of the project is appended. */
async function byOwnKey(
  word: string,
  store: Pick<NameStore, 'findByKey' | 'listDirectories'>,
  context: NameScope,
): Promise<BranchInConversation | null> {
  return word.startsWith('cli:') ? findByOwnKey(word.slice('cli:'.length), store, context) : null
}

async function byBranch(
  name: string,
  store: Pick<NameStore, 'listBranches' | 'listConversations' | 'listDirectories'>,
  context: NameScope,
): Promise<BranchInConversation | null> {
  const directory = await projectDirectories(store, context)
  const { items } = await store.listConversations({ directory, limit: mostLookedAt })
  for (const { branch, ...conversation } of items) {
    if (branch.name === name) return { conversation, branch }
    for await (const one of itemsOf(page => store.listBranches(conversation.id, page)))
      if (one.name === name) return { conversation, branch: one }
  }
  return null
}

/** Most conversations that an error names. */
const mostNamed = 10

/** The conversation with this title, in any case. Those of this project come first. Throws
 *  AmbiguousIdError if several have it. */
async function byTitle(
  typed: string,
  store: Pick<NameStore, 'listConversations'>,
  context: NameScope,
  among: { readonly trashed: true } | { readonly kind: 'main' } = { kind: 'main' },
): Promise<BranchInConversation | null> {
  const wanted = comparable(typed)
  const containing = itemsOf(page =>
    store.listConversations({ title: typed.trim().replace(/\s+/g, ' '), ...among, ...page }),
  )
  const [here, elsewhere]: [ListedConversation[], ListedConversation[]] = [[], []]
  for await (const one of containing) {
    if (one.title === null || comparable(one.title) !== wanted) continue
    const { directory } = one
    const titled = directory !== null && isInProject(directory, context) ? here : elsewhere
    if (titled.length < mostNamed) titled.push(one)
    if (here.length === mostNamed) break
  }
  const [only, ...others] = here.length > 0 ? here : elsewhere
  if (!only) return null
  if (others.length > 0)
    throw new AmbiguousIdError(
      typed,
      [only, ...others].map(({ id }) => ({ kind: 'conversation', id })),
    )
  return withoutBranch(only)
}

function withoutBranch({ branch, ...conversation }: ListedConversation): BranchInConversation {
  return { conversation, branch }
}

function comparable(title: string): string {
  return title.normalize('NFC').trim().replace(/\s+/g, ' ').toLowerCase()
}
