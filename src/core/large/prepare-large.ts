import { type Block, isKnown } from '../block.ts'
import type { Body } from '../body.ts'
import { checkNonEmpty } from '../check.ts'
import type { Json } from '../json.ts'
import { type NewMessage, type NonEmpty, textOf } from '../message.ts'
import { checkRole, type PreparedMessage, readFields, tooLong } from '../prepare.ts'
import { countedText, mediaIn, mediaTokens } from '../tokens.ts'
import { outputParts } from '../tool-output.ts'
import { encodeLargeBody } from './large-body.ts'
import type { Stepwise } from './stepwise.ts'
import { type TakenBody, takeBody } from './take-body.ts'
import { jsonLength } from './write-json.ts'

/** A message that has been checked and copied. */
interface TakenMessage extends Omit<PreparedMessage, 'body' | 'tokens'> {
  readonly field: string
  readonly taken: TakenBody
  /** Null means an estimate. */
  readonly tokens: number | null
}

/** As `prepareMessages`, with pauses, for messages that are large together. They are checked and copied
 *  before this function returns: what the caller changes later is not stored. */
export function prepareLarge(
  messages: readonly NewMessage[],
  field = 'messages',
): Stepwise<NonEmpty<PreparedMessage>> {
  checkNonEmpty(messages, field)
  return prepareTaken(messages.map((message, i) => takeMessage(message, `${field}[${i}]`)))
}

/** The first part of the same, for one message of several with different fields. */
export function takeMessage(message: NewMessage, field: string): TakenMessage {
  const role = checkRole(message, field)
  const taken = takeBody(message.content, message.metadata, field)
  return {
    field,
    role,
    taken,
    ...readFields(message, field),
    said: role === 'user' ? textOf({ content: taken.root.blocks as NewMessage['content'] }) : null,
  }
}

/** The second part. */
export function* prepareTaken(messages: readonly TakenMessage[]): Stepwise<NonEmpty<PreparedMessage>> {
  const prepared: PreparedMessage[] = []
  for (const { field, taken, tokens, ...rest } of messages) {
    // The estimate first: the body has references instead of long strings.
    const estimated = tokens ?? (yield* estimate(taken.root.blocks))
    prepared.push({ ...rest, tokens: estimated, body: yield* bodyOf(taken, field) })
  }
  return prepared as unknown as NonEmpty<PreparedMessage>
}

function* bodyOf(taken: TakenBody, field: string): Stepwise<Body> {
  try {
    return yield* encodeLargeBody(taken, field)
  } catch (error) {
    // A string whose JSON is longer than any string.
    if (error instanceof RangeError) throw tooLong(field)
    throw error
  }
}

/** As `estimateTokens`. */
function* estimate(content: Json): Stepwise<number> {
  if (typeof content === 'string') return Math.ceil(content.length / 4)
  let characters = 0
  let media = 0
  for (const block of content as unknown as readonly Block[]) {
    characters += yield* countedLength(block)
    media += mediaIn(block)
    yield
  }
  return Math.ceil(characters / 4) + media * mediaTokens
}

/** The length of `countedText`, whose JSON may be large. */
function* countedLength(block: Block): Stepwise<number> {
  if (!isKnown(block)) return yield* jsonLength(block as unknown as Json)
  if (block.type === 'tool_call' && typeof block.input !== 'string')
    return block.name.length + (yield* jsonLength(block.input))
  if (block.type === 'tool_result' && typeof block.output !== 'string' && outputParts(block) === null)
    return yield* jsonLength(block.output)
  return countedText(block).length
}
