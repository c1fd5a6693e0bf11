import { branchNames } from '../../core/branch-names.ts'
import { collapseSpaces } from '../../core/collapse-spaces.ts'
import {
  AmbiguousIdError,
  type IdCandidate,
  InvalidError,
  NotFoundError,
  SkeinError,
} from '../../core/errors.ts'
import { gistOf } from '../../core/gist.ts'
import type { ListedConversation } from '../../core/listing.ts'
import { modelName } from '../../core/model-name.ts'
import type { ConversationReader, Lister, MessageReader } from '../../core/ports.ts'
import { editDistance, similarWords } from '../../core/similar-words.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { type ErrorReport, errorReport } from '../command-line/error-report.ts'
import { cut, padEnd, padStart, widthOf } from '../output/cut.ts'
import { shortestIdLength, uniqueShortId } from '../output/short-id.ts'
import { formatAge } from '../output/time.ts'
import { projectDirectories } from './scope.ts'

type ReadStore = ConversationReader & MessageReader & Lister

/** The report of an error. If an id is unknown, it suggests similar ids. `typed` are the arguments: an error
 *  about a short id does not contain it. */
export async function explainError(
  error: unknown,
  typed: readonly string[],
  store: ReadStore,
  context: CommandContext,
): Promise<ErrorReport> {
  const problem = errorReport(error)
  try {
    return await explained(problem, error, typed, store, context)
  } catch {
    // If the store cannot be read, the original error is reported alone.
    return problem
  }
}

async function explained(
  problem: ErrorReport,
  error: unknown,
  typed: readonly string[],
  store: ReadStore,
  context: CommandContext,
): Promise<ErrorReport> {
  if (error instanceof AmbiguousIdError) {
    return { ...problem, lines: await candidateLines(error.candidates, store, context) }
  }
  const word = unknownName(error, typed)
  const near = word === undefined ? [] : await nearMatches(word, store, context)
  if (near.length === 0) return problem
  const names = near.map(({ shown }) => context.err.style.safe(shown))
  const listed = names.length === 1 ? names[0]! : `${names.slice(0, -1).join(', ')} or ${names.at(-1)!}`
  const hint = `Did you mean ${listed}? Or try: skein search`
  return { ...problem, hint, candidates: near.map(({ full }) => full), lines: [] }
}

function unknownName(error: unknown, typed: readonly string[]): string | undefined {
  if (error instanceof NotFoundError && error.kind === 'id') return error.id
  const isTooShort = error instanceof InvalidError && error.field === 'id'
  return isTooShort ? typed.find(one => /^[a-z0-9-]{3,5}$/i.test(one)) : undefined
}

/** `q2w6nb  You      15 Nov  Use full jitter with a 30 s cap`. */
async function candidateLines(
  candidates: readonly IdCandidate[],
  store: ReadStore,
  context: CommandContext,
): Promise<readonly string[]> {
  const rows: (readonly [id: string, who: string, when: string, words: string])[] = []
  for (const candidate of candidates) rows.push(await rowOf(candidate, store, context))
  const { style, width } = context.err
  const widest = (at: 0 | 1 | 2) => Math.max(...rows.map(row => widthOf(row[at])))
  return rows.map(([id, who, when, words]) => {
    const lead = `${padEnd(id, widest(0))}  ${padEnd(who, widest(1))}  ${padStart(when, widest(2))}  `
    const room = Math.max(12, width - 2 - widthOf(lead))
    return `${style.id(id)}${lead.slice(id.length)}${cut(words, room, style.symbols.dots)}`
  })
}

async function rowOf({ kind, id }: IdCandidate, store: ReadStore, context: CommandContext) {
  const { style } = context.err
  const short = await uniqueShortId(store, id)
  const { conversation, message } = await store.resolve(id)
  const [said] = message === null ? [] : await store.getMessages([message], { blobs: 'preview' })
  const when = formatAge(said?.createdAt ?? conversation.updatedAt, context.now())
  if (!said) return [short, kind, when, style.safe(collapseSpaces(conversation.title ?? 'untitled'))] as const
  const who = { user: 'You', system: 'system', tool_result: 'tool', assistant: null }[said.role]
  const model = conversation.model === null ? 'assistant' : modelName(collapseSpaces(conversation.model))
  return [short, style.safe(who ?? model), when, style.safe(gistOf(said))] as const
}

/** A longer list is the task of other commands. */
const mostNamed = 3

/** Ids that the user may have seen recently: this many conversations of the directory, and the newest
 *  messages of the first ones. */
const conversationsSeen = 50
const conversationsRead = 8
const messagesRead = 100

/** Something that the user may have meant. */
interface NearMatch {
  /** With full ids, for programs. */
  readonly full: string
  readonly shown: string
}

/** Names similar to an unknown one, nearest first: branches, ids with the same beginning, recent ids of this
 *  project within two edits, and conversations with a similar title. */
async function nearMatches(
  typed: string,
  store: ConversationReader & Lister,
  context: Pick<CommandContext, 'cwd' | 'env'>,
): Promise<readonly NearMatch[]> {
  const word = typed.trim().toLowerCase()
  if (word.length < 3) return []
  const directory = await projectDirectories(store, context)
  const { items } = await store.listConversations({ directory, limit: conversationsSeen })
  const [id = '', branch] = word.split(':', 2)
  const ofConversation = branch === undefined ? null : await branchesOf(store, id)
  if (ofConversation) return similarBranches(branch!, ofConversation)
  const alike = (await idsSeen(store, items))
    .map(one => ({ one, distance: distanceBetween(id, one) }))
    .filter(({ distance }) => distance <= 2)
    .sort((a, b) => a.distance - b.distance)
    .map(({ one }) => one)
  const branches = /\s/.test(word) ? [] : similarBranches(word, await branchesSeen(store, items))
  const beginning = /^[a-z0-9-]+$/.test(id) ? await idsBeginningLike(store, id) : []
  const ids = [...new Set([...beginning, ...alike])].slice(0, mostNamed)
  const matches: NearMatch[] = [...branches]
  for (const one of ids) matches.push({ full: one, shown: await uniqueShortId(store, one) })
  for (const { id: full, title } of titled(items, word)) {
    const name = cut(collapseSpaces(title ?? ''), 40, '…')
    matches.push({ full, shown: `${await uniqueShortId(store, full)} ("${name}")` })
  }
  return [...new Map(matches.map(match => [match.full, match])).values()].slice(0, mostNamed)
}

/** A branch as the user would type it: alone, or after the id of its conversation. */
interface NamedBranch extends NearMatch {
  readonly name: string
}

/** The branches of the conversation before the colon; null if there is no such conversation. */
async function branchesOf(store: ConversationReader, id: string): Promise<readonly NamedBranch[] | null> {
  try {
    const { conversation } = await store.resolve(id)
    const short = await uniqueShortId(store, conversation.id)
    return [...(await branchNames(store, conversation.id))].map(name => ({
      name,
      full: `${conversation.id}:${name}`,
      shown: `${short}:${name}`,
    }))
  } catch (error) {
    if (error instanceof SkeinError) return null
    throw error
  }
}

/** The branches of the newest conversations. Of equal names, the one that the name alone refers to. */
async function branchesSeen(
  store: Pick<ConversationReader, 'listBranches'>,
  listed: readonly ListedConversation[],
): Promise<readonly NamedBranch[]> {
  const seen = new Map<string, NamedBranch>()
  for (const { id } of listed.slice(0, conversationsRead)) {
    for (const name of await branchNames(store, id)) {
      if (!seen.has(name)) seen.set(name, { name, full: `${id}:${name}`, shown: name })
    }
  }
  return [...seen.values()]
}

function similarBranches(typed: string, branches: readonly NamedBranch[]): readonly NamedBranch[] {
  const similar = similarWords(
    typed,
    branches.map(({ name }) => name),
  )
  const containing = branches.filter(({ name }) => name.toLowerCase().includes(typed))
  const near = [...similar.map(name => branches.find(one => one.name === name)!), ...containing]
  return [...new Set(near)].slice(0, mostNamed)
}

/** Finds the longest beginning that exists: a typo may be at the end of a long id. */
async function idsBeginningLike(
  store: Pick<ConversationReader, 'resolve'>,
  typed: string,
): Promise<readonly string[]> {
  for (let length = typed.length - 1; length >= shortestIdLength; length--) {
    try {
      const { message, conversation } = await store.resolve(typed.slice(0, length))
      return [message ?? conversation.id]
    } catch (error) {
      if (error instanceof AmbiguousIdError) return error.candidates.map(one => one.id)
      if (!(error instanceof NotFoundError || error instanceof InvalidError)) throw error
    }
  }
  return []
}

async function idsSeen(
  store: Pick<Lister, 'listMessages'>,
  listed: readonly ListedConversation[],
): Promise<readonly string[]> {
  const ids: string[] = listed.map(({ id }) => id)
  for (const { id } of listed.slice(0, conversationsRead)) {
    const { items } = await store.listMessages({
      conversationId: id,
      order: 'descending',
      limit: messagesRead,
      blobs: 'preview',
    })
    ids.push(...items.map(message => message.id))
  }
  return ids
}

/** The edit distance to an id prefix of the same length. In a short word, the first three letters have to
 *  match. */
function distanceBetween(typed: string, id: string): number {
  const edits = editDistance(typed, id.slice(0, typed.length))
  return typed.length >= shortestIdLength || typed.slice(0, 3) === id.slice(0, 3)
    ? edits
    : Number.POSITIVE_INFINITY
}

/** The conversations with the typed text in their title, or with a title within a few edits of it. */
function titled(listed: readonly ListedConversation[], typed: string): readonly ListedConversation[] {
  const most = Math.min(5, Math.floor(typed.length / 5))
  return listed.filter(({ title }) => {
    const lower = title === null ? '' : collapseSpaces(title).toLowerCase()
    if (lower.includes(typed)) return true
    return Math.abs(lower.length - typed.length) <= most && editDistance(typed, lower) <= most
  })
}
