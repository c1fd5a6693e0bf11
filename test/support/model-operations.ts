import { strict as assert } from 'node:assert'
import fc from 'fast-check'
import { SkeinError } from '../../src/core/errors.ts'
import type { MessageId } from '../../src/core/ids.ts'
import type { NewMessage } from '../../src/core/message.ts'
import type { Store } from '../../src/core/ports.ts'
import { holderOf, type Model, type ModelConversation, type ModelMessage, Refusal } from './model.ts'

/** Operations as data: numbers choose among the existing things when the operation runs, so every sequence is
 *  valid, and so is every shorter one. */

export const keys = ['k1', 'k2']
export const words = ['apple', 'pear', 'plum', 'fig']

const pick = fc.nat({ max: 99 })
const names = fc.constantFrom('main', 'side', 'main-2', 'x')
const keyOrNone = fc.option(fc.constantFrom(...keys), { freq: 1 })
const texts = fc.array(fc.constantFrom(...words, 'apple pear'), { minLength: 1, maxLength: 4 })
/** Mostly the expected value. */
const seldom = fc.nat({ max: 5 }).map(n => n === 0)

const step = fc.record({
  key: fc.constantFrom('t1', 't2', 't3'),
  step: fc.nat({ max: 2 }),
  status: fc.constantFrom('open', 'complete'),
  holder: fc.constantFrom(1, 1, 1, 2),
})

export const operation = fc.oneof(
  { weight: 2, arbitrary: fc.record({ do: fc.constant('create'), key: keyOrNone }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('findOrCreate'), key: fc.constantFrom(...keys) }) },
  {
    weight: 24,
    arbitrary: fc.record({
      do: fc.constant('append'),
      conversation: pick,
      branch: pick,
      wrongHead: seldom,
      head: pick,
      texts,
      step: fc.option(step, { freq: 2 }),
      sibling: fc.boolean(),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('save'),
      conversation: pick,
      items: fc.array(fc.record({ text: fc.constantFrom(...words), under: pick, beside: fc.boolean() }), {
        minLength: 1,
        maxLength: 4,
      }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('createBranch'),
      conversation: pick,
      at: pick,
      name: names,
      key: fc.option(fc.constantFrom(...keys), { freq: 3, nil: null }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('renameBranch'), conversation: pick, branch: pick, to: names }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('deleteBranch'), conversation: pick, branch: pick }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('moveBranch'),
      conversation: pick,
      branch: pick,
      wrongHead: seldom,
      head: pick,
      to: pick,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('activateBranch'), conversation: pick, branch: pick }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('setKey'), conversation: pick, branch: pick, key: keyOrNone }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('reset'), conversation: pick, branch: pick }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('setLabel'),
      conversation: pick,
      message: pick,
      label: fc.option(fc.constantFrom('l1', 'l2')),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('deleteMessages'),
      messages: fc.array(fc.tuple(pick, pick), { maxLength: 3 }),
      recursive: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('eraseMessages'),
      messages: fc.array(fc.tuple(pick, pick), { maxLength: 3 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('trash'), conversation: pick }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('restore'), conversation: pick }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('purge'), conversation: pick }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('wait'), ms: pick }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('search'), word: fc.constantFrom(...words) }) },
)

export type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never

/** Applies the operation to both and checks that both give the same answer. Returns whether they performed
 *  it. */
export async function run(operation: Operation, model: Model, store: Store): Promise<boolean> {
  if (operation.do === 'wait') {
    model.now += operation.ms
    return true
  }
  if (operation.do === 'search') {
    await compareSearch(operation.word, model, store)
    return true
  }
  if (operation.do === 'create' || operation.do === 'findOrCreate') return begin(operation, model, store)
  if (model.conversations.length === 0) return false
  const done = await work(operation, model, store)
  // The same content in the same place and millisecond has the same id, also after a deletion. The model
  // distinguishes messages by identity and would not see it.
  if (operation.do === 'deleteMessages') model.now += 1_000
  return done
}

async function begin(
  operation: Extract<Operation, { do: 'create' | 'findOrCreate' }>,
  model: Model,
  store: Store,
): Promise<boolean> {
  const { key } = operation
  if (operation.do === 'findOrCreate') {
    const held = model.holderOfKey(operation.key)
    const place = await store.findOrCreate(operation.key)
    assert.equal(place.created, held === null)
    if (held)
      assert.deepEqual([place.conversation.id, place.branch.name], [held.conversation.id, held.branch.name])
    else model.create(key).id = place.conversation.id
    return true
  }
  return both(
    () => model.create(key),
    () => store.create(key === null ? {} : { key }),
    (made, place) => {
      made.id = place.conversation.id
    },
  )
}

async function work(
  operation: Exclude<Operation, { do: 'create' | 'findOrCreate' | 'wait' | 'search' }>,
  model: Model,
  store: Store,
): Promise<boolean> {
  const at = <T>(list: readonly T[], n: number): T | undefined => list[n % Math.max(list.length, 1)]
  const conversation = at(model.conversations, 'conversation' in operation ? operation.conversation : 0)!
  /** One of its branches; sometimes a missing one. */
  const name = (n: number) => (n === 99 ? 'nowhere' : (at(conversation.branches, n)?.name ?? 'main'))
  /** One of its messages, live or not; sometimes a missing one. */
  const message = (n: number, of: ModelConversation = conversation) =>
    n % 10 === 9 ? null : (at(of.messages, n) ?? null)
  const idOf = (one: ModelMessage | null) => one?.id ?? null
  const ref = (branch: string) => ({ conversationId: conversation.id, name: branch })
  const headOf = (branch: string) => conversation.branches.find(one => one.name === branch)?.head ?? null
  const several = (chosen: readonly (readonly [number, number])[]) =>
    chosen.flatMap(([c, m]) => message(m, at(model.conversations, c)!) ?? [])

  switch (operation.do) {
    case 'append': {
      const branch = name(operation.branch)
      const expected = operation.wrongHead ? message(operation.head) : headOf(branch)
      const { texts, sibling, step } = operation
      const turn = step && {
        ...step,
        status: step.status as 'open' | 'complete',
        holder: step.holder,
      }
      return both(
        () => model.append(conversation, branch, expected, texts, { step: turn, sibling }),
        () =>
          store.append(ref(branch), idOf(expected), texts.map(says), {
            ...(turn && { turn: { ...turn, holder: holderOf(turn.holder) } }),
            onConflict: sibling ? 'fork' : 'refuse',
          }),
        (grown, appended) => {
          assert.deepEqual([appended.outcome, appended.branch.name], [grown.outcome, grown.branch])
          assert.equal(appended.head, appended.ids.at(-1))
          if (grown.outcome === 'replayed') assert.deepEqual(appended.ids, grown.messages.map(idOf))
          tellIds(grown.messages, appended.ids)
        },
      )
    }
    case 'save': {
      const items = operation.items.map(({ text, under, beside }, i) => ({
        text,
        parent: !beside && i > 0 ? under % i : message(under),
      }))
      return both(
        () => model.save(conversation, items),
        () =>
          store.save(
            conversation.id,
            items.map(({ text, parent }) => ({
              message: says(text),
              parent: typeof parent === 'number' ? { item: parent } : idOf(parent),
            })),
          ),
        tellIds,
      )
    }
    case 'createBranch': {
      const head = message(operation.at)
      const { name, key } = operation
      return both(
        () => model.createBranch(conversation, head, name, key),
        () => store.createBranch(conversation.id, idOf(head), { name, ...(key !== null && { key }) }),
      )
    }
    case 'renameBranch': {
      const branch = name(operation.branch)
      return both(
        () => model.renameBranch(conversation, branch, operation.to),
        () => store.renameBranch(ref(branch), operation.to),
      )
    }
    case 'deleteBranch': {
      const branch = name(operation.branch)
      return both(
        () => model.deleteBranch(conversation, branch),
        () => store.deleteBranch(ref(branch)),
      )
    }
    case 'moveBranch': {
      const branch = name(operation.branch)
      const from = operation.wrongHead ? message(operation.head) : headOf(branch)
      const to = message(operation.to)
      return both(
        () => model.moveBranch(conversation, branch, from, to),
        () => store.moveBranch(ref(branch), idOf(from), idOf(to)),
      )
    }
    case 'activateBranch': {
      const branch = name(operation.branch)
      return both(
        () => model.activateBranch(conversation, branch),
        () => store.activateBranch(ref(branch)),
      )
    }
    case 'setKey': {
      const branch = name(operation.branch)
      return both(
        () => model.setKey(conversation, branch, operation.key),
        () => store.setKey(ref(branch), operation.key),
      )
    }
    case 'reset': {
      const branch = name(operation.branch)
      return both(
        () => model.reset(conversation, branch),
        () => store.reset(ref(branch)),
        (archived, result) => assert.equal(result.archived?.name ?? null, archived),
      )
    }
    case 'setLabel': {
      const chosen = message(operation.message)
      if (!chosen) return false
      return both(
        () => model.setLabel(chosen, operation.label),
        () => store.setLabel(chosen.id, operation.label),
      )
    }
    case 'deleteMessages': {
      const chosen = several(operation.messages)
      return both(
        () => model.deleteMessages(chosen, operation.recursive),
        () =>
          store.deleteMessages(
            chosen.map(one => one.id),
            operation.recursive ? { recursive: true } : {},
          ),
        (count, { deleted }) => assert.equal(deleted, count),
      )
    }
    case 'eraseMessages': {
      const chosen = several(operation.messages)
      return both(
        () => model.eraseMessages(chosen),
        () =>
          store.eraseMessages(
            chosen.map(one => one.id),
            { by: 'me', reason: 'why' },
          ),
        (expected, { erased }) => assert.equal(erased, expected),
      )
    }
    case 'trash':
      return both(
        () => model.trash(conversation),
        () => store.trash(conversation.id),
        assert.equal,
      )
    case 'restore':
      return both(
        () => model.restore(conversation),
        () => store.restore(conversation.id),
        (taken, { keysTaken }) => assert.deepEqual(keysTaken, taken),
      )
    case 'purge':
      return both(
        () => model.purge(conversation),
        () => store.purge(conversation.id),
        (expected, { purged }) => assert.equal(purged, expected),
      )
    default:
      return operation satisfies never
  }
}

/** Finds exactly the visible messages. It also fills the index, so that a later deletion has something to
 *  remove. */
export async function compareSearch(word: string, model: Model, store: Store): Promise<void> {
  const visible = model.conversations.filter(one => !one.trashed).flatMap(one => one.messages)
  const expected = visible.filter(one => one.alive && !one.erased && one.text.split(' ').includes(word))
  const { items } = await store.search(word, { limit: 200 })
  assert.deepEqual(items.map(hit => hit.message.id).sort(), expected.map(one => one.id).sort())
}

function says(text: string): NewMessage {
  return { role: 'user', content: text }
}

/** Passes the ids of the driver to the model. */
function tellIds(messages: readonly ModelMessage[], ids: readonly MessageId[]): void {
  assert.equal(ids.length, messages.length)
  for (const [i, message] of messages.entries()) message.id = ids[i]!
}

/** Both refuse with the same code, or both succeed and `agree`. Returns whether they succeeded. */
export async function both<M, S>(
  ofModel: () => M,
  ofStore: () => Promise<S>,
  agree: (model: M, store: S) => void = () => {},
): Promise<boolean> {
  let expected: { value: M } | { code: string }
  try {
    expected = { value: ofModel() }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    expected = { code: error.code }
  }
  const actual = await ofStore().then(
    value => ({ value }),
    (error: unknown) => {
      if (!(error instanceof SkeinError)) throw error
      return { code: error.code }
    },
  )
  if ('code' in expected || 'code' in actual) {
    const code = (one: object) => ('code' in one ? one.code : 'went through')
    assert.equal(code(actual), code(expected))
    return false
  }
  agree(expected.value, actual.value)
  return true
}
