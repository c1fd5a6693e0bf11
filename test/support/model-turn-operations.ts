import { strict as assert } from 'node:assert'
import fc from 'fast-check'
import type { ListEvents } from '../../src/core/event.ts'
import type { Store } from '../../src/core/ports.ts'
import { holderOf, type Model, type ModelConversation } from './model.ts'
import { both, words } from './model-operations.ts'
import { addEvents, endTurn, needHeldTurn, putDraft, reopenTurn } from './model-turns.ts'

/** Operations on open turns and on events, as data; as in `model-operations.ts`. */

const pick = fc.nat({ max: 99 })
/** Mostly the holder of the turns. */
const holder = fc.constantFrom(1, 1, 1, 1, 2)
const eventTypes = ['plan', 'degraded', 'recovered'] as const
const eventType = fc.constantFrom(...eventTypes)

export const turnOperation = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('endTurn'),
      conversation: pick,
      turn: pick,
      holder,
      status: fc.constantFrom('complete', 'interrupted', 'failed'),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('putDraft'),
      conversation: pick,
      turn: pick,
      holder,
      // The distance of the first piece from the end of the draft.
      off: fc.constantFrom(0, 0, 0, 0, -1, 1),
      texts: fc.array(
        fc.constantFrom(...words).map(word => `${word} `),
        { minLength: 1, maxLength: 3 },
      ),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('renewTurn'), conversation: pick, turn: pick, holder }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('reopenTurn'),
      conversation: pick,
      branch: pick,
      holder: fc.constantFrom(1, 2),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('addEvents'),
      conversation: pick,
      types: fc.array(eventType, { minLength: 1, maxLength: 3 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('listEvents'),
      conversation: pick,
      skip: fc.option(fc.nat({ max: 5 }), { nil: undefined }),
      types: fc.option(fc.subarray([...eventTypes], { minLength: 1 }), { nil: undefined }),
      newest: fc.boolean(),
      limit: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
    }),
  },
)

export type TurnOperation = typeof turnOperation extends fc.Arbitrary<infer T> ? T : never

const kinds = ['endTurn', 'putDraft', 'renewTurn', 'reopenTurn', 'addEvents', 'listEvents']

/** Whether an operation is one of these. */
export function isTurnOperation(operation: { readonly do: string }): operation is TurnOperation {
  return kinds.includes(operation.do)
}

/** Applies the operation to both and checks that both give the same answer. Returns whether they performed
 *  it. */
export async function runTurnOperation(
  operation: TurnOperation,
  model: Model,
  store: Store,
): Promise<boolean> {
  if (model.conversations.length === 0) return false
  const conversation = model.conversations[operation.conversation % model.conversations.length]!
  const { id, turns } = conversation
  const key = 'turn' in operation ? (turns[operation.turn % Math.max(turns.length, 1)]?.key ?? 't1') : ''
  switch (operation.do) {
    case 'endTurn': {
      const { holder } = operation
      const status = operation.status as 'complete' | 'interrupted' | 'failed'
      return both(
        () => endTurn(model, conversation, key, holder, status),
        () => store.endTurn(id, key, { status, heldBy: holderOf(holder) }),
        (message, ended) => {
          assert.deepEqual([ended.message !== null, ended.turn.status], [message !== null, status])
          if (message) message.id = ended.message!
        },
      )
    }
    case 'putDraft': {
      const { holder, texts } = operation
      const drafts = turns.find(one => one.key === key)?.drafts ?? []
      const from = Math.max(0, drafts.length + operation.off)
      const pieces = texts.map((text, i) => ({ n: from + i, type: 'text' as const, text }))
      return both(
        () => putDraft(model, conversation, key, holder, from, texts),
        () => store.putDraft(id, key, holderOf(holder), pieces),
      )
    }
    case 'renewTurn':
      return both(
        () => needHeldTurn(model, conversation, key, operation.holder),
        () => store.renewTurn(id, key, holderOf(operation.holder)),
        (turn, renewed) => assert.deepEqual([renewed.key, renewed.last], [turn.key, turn.last]),
      )
    case 'reopenTurn': {
      const name = branchToReopen(conversation, operation.branch)
      let taken = false
      const agreed = await both(
        () => reopenTurn(model, conversation, name, operation.holder),
        () => store.reopenTurn({ conversationId: id, name }, holderOf(operation.holder)),
        (turn, reopened) => {
          taken = turn !== null
          assert.deepEqual(
            reopened && [reopened.key, reopened.status, reopened.lastStep, reopened.holder?.pid],
            turn && [turn.key, 'open', turn.lastStep, operation.holder],
          )
        },
      )
      return agreed && taken
    }
    case 'addEvents': {
      const events = operation.types.map(type => ({ type }))
      return both(
        () => addEvents(model, conversation, operation.types),
        () => store.addEvents(id, events),
      )
    }
    case 'listEvents':
      if (!conversation.purged) await compareEvents(conversation, store, operation)
      return conversation.events.length > 0
    default:
      return operation satisfies never
  }
}

/** Mostly a branch whose last turn did not complete; sometimes a missing one. */
function branchToReopen({ branches, turns }: ModelConversation, n: number): string {
  if (n === 99) return 'nowhere'
  const stopped = turns.filter(({ status }) => status === 'interrupted' || status === 'failed')
  const likely = n % 4 === 0 ? [] : stopped.map(({ branch }) => branch)
  const names = likely.length > 0 ? likely : branches.map(({ name }) => name)
  return names[n % names.length] ?? 'main'
}

/** Compares the events, or a part of them, with those of the model. */
export async function compareEvents(
  conversation: ModelConversation,
  store: Store,
  asked: Pick<Extract<TurnOperation, { do: 'listEvents' }>, 'skip' | 'types' | 'newest' | 'limit'>,
): Promise<void> {
  const { skip = 0, types, newest = false, limit = 100 } = asked
  const expected = conversation.events
    .map((type, n) => [n, type] as const)
    .filter(([, type]) => types === undefined || (types as string[]).includes(type))
  if (newest) expected.reverse()
  const listing: ListEvents = {
    ...(types && { types }),
    ...(newest && { order: 'descending' }),
    ...(asked.limit !== undefined && { limit }),
  }
  const before = skip > 0 ? await store.listEvents(conversation.id, { ...listing, limit: skip }) : null
  if (before?.next === null) return
  const after = before ? { after: before.next } : {}
  const { items } = await store.listEvents(conversation.id, { ...listing, ...after })
  assert.deepEqual(
    items.map(({ n, type }) => [n, type]),
    expected.slice(skip, skip + limit),
  )
}
