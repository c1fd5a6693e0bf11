import { AmbiguousIdError, type IdCandidate, InvalidError, NotFoundError } from '../../core/errors.ts'
import type { ConversationReader, Lister, MessageReader } from '../../core/ports.ts'
import type { World } from '../command-line/command-context.ts'
import { type Problem, problemOf } from '../command-line/report.ts'
import { cut, folded, padEnd, padStart, widthOf } from '../output/cut.ts'
import { gistOf } from '../output/gist.ts'
import { modelName } from '../output/model-name.ts'
import { shortIdIn } from '../output/short-id.ts'
import { age } from '../output/time.ts'
import { nearIds } from './near-ids.ts'

type ReadStore = ConversationReader & MessageReader & Lister

/** An error, and if it is about an id, what may have been meant. `typed` are the words that were given: an error about
 *  an id that is too short does not say which. */
export async function explain(
  error: unknown,
  typed: readonly string[],
  store: ReadStore,
  world: World,
): Promise<Problem> {
  const problem = problemOf(error)
  try {
    return await explained(problem, error, typed, store, world)
  } catch {
    // A store that cannot be read has no more to say: what went wrong first is what counts.
    return problem
  }
}

async function explained(
  problem: Problem,
  error: unknown,
  typed: readonly string[],
  store: ReadStore,
  world: World,
): Promise<Problem> {
  if (error instanceof AmbiguousIdError) {
    return { ...problem, lines: await candidateLines(error.candidates, store, world) }
  }
  const word = unknownId(error, typed)
  const near = word === undefined ? [] : await nearIds(word, store, world)
  if (near.length === 0) return problem
  const short: string[] = []
  for (const id of near) short.push(await shortIdIn(store, id))
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
  world: World,
): Promise<readonly string[]> {
  const rows: (readonly [id: string, who: string, when: string, words: string])[] = []
  for (const candidate of candidates) rows.push(await rowOf(candidate, store, world))
  const { style, width } = world.err
  const widest = (at: 0 | 1 | 2) => Math.max(...rows.map(row => widthOf(row[at])))
  return rows.map(([id, who, when, words]) => {
    const lead = `${padEnd(id, widest(0))}  ${padEnd(who, widest(1))}  ${padStart(when, widest(2))}  `
    const room = Math.max(12, width - 2 - widthOf(lead))
    return `${style.id(id)}${lead.slice(id.length)}${cut(words, room, style.symbols.dots)}`
  })
}

async function rowOf({ kind, id }: IdCandidate, store: ReadStore, world: World) {
  const { style } = world.err
  const short = await shortIdIn(store, id)
  const { conversation, message } = await store.resolve(id)
  const [said] = message === null ? [] : await store.getMessages([message], { blobs: 'preview' })
  const when = age(said?.createdAt ?? conversation.updatedAt, world.now())
  if (!said) return [short, kind, when, style.safe(folded(conversation.title ?? 'untitled'))] as const
  const who = { user: 'You', system: 'system', tool_result: 'tool', assistant: null }[said.role]
  const model = conversation.model === null ? 'assistant' : modelName(folded(conversation.model))
  return [short, style.safe(who ?? model), when, style.safe(gistOf(said))] as const
}
