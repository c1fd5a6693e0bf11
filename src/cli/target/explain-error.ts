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

/** An error, and if it is about an id, what may have been meant. `typed` are the words that were given: an error about
 *  an id that is too short does not say which. */
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
    // A store that cannot be read has no more to say: what went wrong first is what counts.
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

/** More would be a list, and there are commands for lists. */
const mostNamed = 3

/** What a person has seen lately is in these: so many conversations of this directory, and the newest messages of
 *  the first few of them. */
const conversationsSeen = 50
const conversationsRead = 8
const messagesRead = 100

/** Ids that may have been meant by one that is not there, the nearest first: those that begin like it anywhere in the
 *  store, those seen lately in this directory that differ in a letter or two, and conversations that have it in their
 *  title. */
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

/** As much of the beginning as is there at all: whoever mistypes does so at the end of a long id as well. */
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

/** Edits between what was typed and the same length of an id. Of few letters the first three have to be right. */
function distanceBetween(typed: string, id: string): number {
  const edits = editDistance(typed, id.slice(0, typed.length))
  return typed.length >= shortestIdLength || typed.slice(0, 3) === id.slice(0, 3)
    ? edits
    : Number.POSITIVE_INFINITY
}

function titled(listed: readonly ListedConversation[], typed: string): readonly string[] {
  return listed.filter(({ title }) => title?.toLowerCase().includes(typed)).map(({ id }) => id)
}
