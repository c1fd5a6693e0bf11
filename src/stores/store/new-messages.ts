import type { BranchRef } from '../../core/branch.ts'
import { checkChoice, checkCount, checkName, checkNonEmpty, checkObject } from '../../core/check.ts'
import { InvalidError } from '../../core/errors.ts'
import { type ConversationId, type MessageId, messageId } from '../../core/ids.ts'
import { isPlainObject, typeName } from '../../core/json.ts'
import { prepareLarge, prepareTaken, takeMessage } from '../../core/large/prepare-large.ts'
import { type Stepwise, thenDo } from '../../core/large/stepwise.ts'
import { areLarge } from '../../core/large/weight.ts'
import type { NewMessage, NonEmpty } from '../../core/message.ts'
import type { AppendOptions, SaveItem } from '../../core/ports.ts'
import { type PreparedMessage, prepareMessage, prepareMessages } from '../../core/prepare.ts'
import * as checked from '../check/input.ts'
import type { LargeProgram } from '../engine/engine.ts'
import { type AppendRequest, append } from '../programs/append.ts'
import { storedValues } from '../programs/blob-parts.ts'
import { type PreparedItem, save } from '../programs/save.ts'
import type { Written } from '../programs/steps.ts'
import type { LeaseTime } from '../programs/turns.ts'

/** Checks an append and makes the stored form of its messages. */
export function appendRequest(
  branch: BranchRef,
  expectedHead: MessageId | null,
  messages: readonly NewMessage[],
  options: AppendOptions,
  lease: LeaseTime,
): AppendRequest {
  const checkedOptions = checkAppend(branch, expectedHead, options)
  return { ...checkedOptions, messages: prepareMessages(messages), ...lease }
}

/** Whether the messages of an append are prepared in pieces. */
export function isLargeAppend(messages: readonly NewMessage[]): boolean {
  return Array.isArray(messages) && areLarge(messages)
}

/** The same for large messages. Everything is checked, and the messages are copied, before it returns. */
export function largeAppend(
  branch: BranchRef,
  expectedHead: MessageId | null,
  given: readonly NewMessage[],
  options: AppendOptions,
  lease: LeaseTime,
): Stepwise<LargeProgram<Written>> {
  const checkedOptions = checkAppend(branch, expectedHead, options)
  return thenDo(prepareLarge(given), messages => ({
    program: () => append({ ...checkedOptions, messages, ...lease }),
    values: valuesOf(messages),
  }))
}

function valuesOf(messages: readonly PreparedMessage[]): LargeProgram<unknown>['values'] {
  return messages.flatMap(({ body }) => [body.text, ...body.blobs.flatMap(blob => storedValues(blob.data))])
}

function checkAppend(branch: BranchRef, expectedHead: MessageId | null, options: AppendOptions) {
  checkObject(options, 'options')
  return {
    ref: checked.checkRef(branch),
    expectedHead: checked.optionalMessageId(expectedHead, 'expectedHead'),
    turn: options.turn && checked.checkTurnStep(options.turn),
    onConflict:
      options.onConflict === undefined
        ? ('refuse' as const)
        : checkChoice(options.onConflict, 'onConflict', ['refuse', 'fork']),
    ...(options.moveKey !== undefined && {
      moveKey: options.moveKey === null ? null : checkName(options.moveKey, 'moveKey'),
    }),
  }
}

/** Checks items and makes the stored form of their messages. */
export function prepareItems(items: readonly SaveItem[]): NonEmpty<PreparedItem> {
  checkNonEmpty(items, 'items')
  return items.map((item, i) => {
    const { parent, message } = checkItem(item, i)
    return { message: prepareMessage(message, messageField(i)), parent }
  }) as unknown as NonEmpty<PreparedItem>
}

/** Whether the messages of items are prepared in pieces. */
export function isLargeSave(items: readonly SaveItem[]): boolean {
  return Array.isArray(items) && areLarge(items.map(item => item?.message))
}

/** The same for large messages, which are checked and copied before it returns. */
export function largeSave(
  id: ConversationId,
  items: readonly SaveItem[],
  now: () => number,
): Stepwise<LargeProgram<NonEmpty<MessageId>>> {
  const parents = items.map((item, i) => checkItem(item, i).parent)
  const taken = items.map(({ message }, i) => takeMessage(message, messageField(i)))
  return thenDo(prepareTaken(taken), messages => {
    const prepared = messages.map((message, i) => ({ message, parent: parents[i]! }))
    return {
      program: () => save(id, prepared as unknown as NonEmpty<PreparedItem>, now()),
      values: valuesOf(messages),
    }
  })
}

function messageField(i: number): string {
  return `items[${i}].message`
}

function checkItem(item: SaveItem, i: number): SaveItem {
  const field = `items[${i}]`
  if (!isPlainObject(item)) throw new InvalidError(field, `must be an item, got ${typeName(item)}`)
  const { message, parent } = item as SaveItem
  if (typeof parent === 'string') messageId(parent, `${field}.parent`)
  else if (parent !== null) checkCount(parent?.item, `${field}.parent.item`, 0, i - 1)
  return { message, parent }
}
