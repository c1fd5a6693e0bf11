import { AmbiguousIdError, type IdCandidate, InvalidError, NotFoundError } from '../../core/errors.ts'
import type { ListedConversation } from '../../core/listing.ts'
import type { ConversationReader, Lister, MessageReader } from '../../core/ports.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { type ErrorReport, errorReport } from '../command-line/error-report.ts'
import { editDistance } from '../command-line/similar-words.ts'
import { collapseSpaces, cut, padEnd, padStart, widthOf } from '../output/cut.ts'
import { gistOf } from '../output/gist.ts'
import { modelName } from '../output/model-name.ts'
import { shortestIdLength, uniqueShortId } from '../output/short-id.ts'
import { formatAge } from '../output/time.ts'

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
  const word = unknownId(error, typed)
  const near = word === undefined ? [] : await nearIds(word, store, context)
  if (near.length === 0) return problem
  const short: string[] = []
  for (const id of near) short.push(await uniqueShortId(store, id))
  return { ...problem, hint: `Near: ${short.join(', ')}. Or: skein search`, candidates: near, lines: [] }
}

function unknownId(error: unknown, typed: readonly string[]): string | undefined {
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

/** Ids similar to an unknown one, nearest first: those with the same beginning, recent ones of this directory
 *  within two edits, and conversations with the word in their title. */
async function nearIds(
  typed: string,
  store: ConversationReader & Lister,
  { cwd }: Pick<CommandContext, 'cwd'>,
): Promise<readonly string[]> {
  const id = typed.split(':', 1)[0]!.toLowerCase()
  if (id.length < 3) return []
  const { items } = await store.listConversations({ directory: cwd, limit: conversationsSeen })
  const alike = (await idsSeen(store, items))
    .map(one => ({ one, distance: distanceBetween(id, one) }))
    .filter(({ distance }) => distance <= 2)
    .sort((a, b) => a.distance - b.distance)
    .map(({ one }) => one)
  const found = [...(await idsBeginningLike(store, id)), ...alike, ...titled(items, id)]
  return [...new Set(found)].slice(0, mostNamed)
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

function titled(listed: readonly ListedConversation[], typed: string): readonly string[] {
  return listed.filter(({ title }) => title?.toLowerCase().includes(typed)).map(({ id }) => id)
}
