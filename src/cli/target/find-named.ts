import { InvalidError, NotFoundError } from '../../core/errors.ts'
import { collectPages } from '../../core/pages.ts'
import type { BranchInConversation, ConversationReader, Lister, Resolved } from '../../core/ports.ts'
import type { CommandContext } from '../command-line/command-context.ts'

/** The number of conversations that are searched for a branch name. */
const mostLookedAt = 50

/** What a word refers to: an id prefix, `id:branch`, a key, or a branch name in a conversation of this
 *  directory, newest first. Null if nothing matches. Throws AmbiguousIdError, and NotFoundError for a trashed
 *  conversation. */
export async function findNamed(
  word: string,
  store: ConversationReader & Lister,
  context: Pick<CommandContext, 'cwd'>,
): Promise<Resolved | null> {
  if (word === '' || /\s/.test(word)) return null
  try {
    const found = await store.resolve(word)
    if (found.conversation.trashedAt !== null)
      throw new NotFoundError('conversation', word, { trashed: true })
    return found
  } catch (error) {
    const isUnknown = error instanceof InvalidError || (error instanceof NotFoundError && !error.trashed)
    if (!isUnknown) throw error
  }
  const found = (await byOwnKey(word, store, context)) ?? (await byBranch(word, store, context))
  return found && { ...found, message: null }
}

/** A key as the user types it. In the user's store, the directory is appended. */
async function byOwnKey(
  word: string,
  store: Pick<ConversationReader, 'findByKey'>,
  { cwd }: Pick<CommandContext, 'cwd'>,
): Promise<BranchInConversation | null> {
  return word.startsWith('cli:') ? store.findByKey(`${word}@${cwd}`) : null
}

async function byBranch(
  name: string,
  store: Pick<ConversationReader & Lister, 'listBranches' | 'listConversations'>,
  { cwd }: Pick<CommandContext, 'cwd'>,
): Promise<BranchInConversation | null> {
  const { items } = await store.listConversations({ directory: cwd, limit: mostLookedAt })
  for (const { branch, ...conversation } of items) {
    if (branch.name === name) return { conversation, branch }
    const branches = await collectPages(page => store.listBranches(conversation.id, page))
    const found = branches.find(one => one.name === name)
    if (found) return { conversation, branch: found }
  }
  return null
}

/** Whether the word must be an id, so that an unknown one is an error and not a prompt. Words of a language
 *  contain no digits. */
export function looksLikeId(word: string): boolean {
  const [id = '', branch] = word.split(':', 2)
  if (branch === '') return false
  if (/^[a-z2-7]{32}$/.test(id) || /^cli:\S/.test(word)) return true
  return /\d/.test(id) && /^[a-z0-9-]{4,36}$/i.test(id)
}
