import fc from 'fast-check'
import { expect, it } from 'vitest'
import { storedHistory } from '../../../src/agent/history/stored-history.ts'
import type { Window } from '../../../src/context/fit/window.ts'
import { readHistory } from '../../../src/context/read-context.ts'
import type { BranchRef } from '../../../src/core/branch.ts'
import type { MessageId } from '../../../src/core/ids.ts'
import type { Message, NewMessage } from '../../../src/core/message.ts'
import { openStore, type Store } from '../../../src/index.ts'
import { holder } from '../../../src/testing/contract/build.ts'

/** A message with its size in words. */
const sized = (role: NewMessage['role']) =>
  fc
    .integer({ min: 1, max: 60 })
    .map((words): NewMessage => ({ role, content: Array(words).fill('word').join(' ') }))

/** The messages of one write: a turn, or messages outside turns. */
const write = fc.record({
  inTurn: fc.boolean(),
  messages: fc.tuple(
    fc.oneof(sized('user'), sized('user'), sized('assistant')),
    fc.array(fc.oneof(sized('assistant'), sized('tool_result')), { maxLength: 5 }),
  ),
})

const window: fc.Arbitrary<Window> = fc.record(
  {
    limit: fc.integer({ min: 20, max: 1_500 }),
    maxMessages: fc.integer({ min: 1, max: 12 }),
    maxLoaded: fc.integer({ min: 1, max: 12 }),
  },
  { requiredKeys: ['limit'] },
)

const conversation = fc.record({
  writes: fc.array(write, { maxLength: 10 }),
  /** The message that another branch begins at, and what it has; the turn is on that branch. */
  fork: fc.option(fc.record({ at: fc.nat(), writes: fc.array(write, { maxLength: 4 }) })),
  /** The writes that the summaries end with. */
  summaries: fc.array(fc.nat(), { maxLength: 6 }),
  window,
  question: sized('user'),
})

it('knows the context of a turn from what was read with its branch', { timeout: 60_000 }, async () => {
  let unread = 0
  const runs = 200
  await fc.assert(
    fc.asyncProperty(conversation, async ({ writes, fork, summaries, window, question }) => {
      await using store = await openStore(':memory:')
      const { branch } = await store.findOrCreate('talk')
      let target: BranchRef = branch
      const { ids, ends } = await append(store, branch, null, writes)
      if (fork && ids.length > 0) {
        const at = ids[fork.at % ids.length]!
        target = await store.createBranch(branch.conversationId, at, { name: 'side', key: 'side' })
        await append(store, target, at, fork.writes)
      }
      for (const i of summaries)
        if (writes.length > 0) await summarize(store, ids[0]!, ends[i % ends.length]!)

      const counted = countTails(store)
      const history = storedHistory(counted.store, { prompt: null, model: 'scripted' })
      const resolved = await history.resolve(target === branch ? 'talk' : 'side', 'make', window)
      const begun = await history.beginTurn(resolved, { words: [question], onBusy: 'wait' })
      counted.reset()
      const known = await begun.read(window)
      if (counted.tails === 0) unread++
      const read = await readHistory(store, begun.recording.head, window, { toolResults: 'preview' })
      await begun.recording.end('complete')
      expect({ ...known, messages: known.messages.map(contentOf) }).toEqual({
        ...read,
        messages: read.messages.map(contentOf),
      })
    }),
    { numRuns: runs },
  )
  expect(unread).toBeGreaterThan(runs / 4)
})

it('reads the end of the branch again if another process has continued it', async () => {
  await using store = await openStore(':memory:')
  const { branch } = await store.findOrCreate('talk')
  const history = storedHistory(store, { prompt: null, model: 'scripted' })
  const window = { limit: 1_000 }
  const resolved = await history.resolve('talk', 'make', window)
  await store.append(branch, null, [{ role: 'user', content: 'from elsewhere' }])
  const begun = await history.beginTurn(resolved, { words: [{ role: 'user', content: 'and from here' }] })
  const { messages } = await begun.read(window)
  await begun.recording.end('complete')
  expect(messages.map(({ content }) => content)).toEqual([
    [{ type: 'text', text: 'from elsewhere' }],
    [{ type: 'text', text: 'and from here' }],
  ])
})

/** What a context is made of. The turn and the number of a message that has not been read are not known. */
function contentOf({ id, parentId, depth, role, content, plain, tokens, pathTokens }: Message) {
  return { id, parentId, depth, role, content, plain, tokens, pathTokens }
}

async function append(
  store: Store,
  branch: BranchRef,
  from: MessageId | null,
  writes: readonly { inTurn: boolean; messages: [NewMessage, NewMessage[]] }[],
): Promise<{ readonly ids: readonly MessageId[]; readonly ends: readonly MessageId[] }> {
  let head = from
  const ids: MessageId[] = []
  const ends: MessageId[] = []
  for (const [i, { inTurn, messages }] of writes.entries()) {
    const [first, others] = messages
    const turn = inTurn ? { turn: { key: `${branch.name}-${i}`, step: 0 } } : {}
    const appended = await store.append(branch, head, [first, ...others], turn)
    head = appended.head
    ids.push(...appended.ids)
    ends.push(head)
  }
  return { ids, ends }
}

async function summarize(store: Store, first: MessageId, last: MessageId): Promise<void> {
  const [message] = await store.getMessages([first])
  const { conversationId } = message!
  const by = holder()
  const claimed = await store.claimSummary(conversationId, { first, last }, by)
  if (!claimed.claimed) return
  await store.putSummary(conversationId, { first, last, tokens: 1, text: `up to ${last}`, holder: by })
}

/** A store that counts the tails that are read from it. */
function countTails(store: Store) {
  let tails = 0
  const counting = new Proxy(store, {
    get(from, name) {
      const value = Reflect.get(from, name)
      if (name !== 'tail') return value
      return (...args: Parameters<Store['tail']>) => {
        tails++
        return store.tail(...args)
      }
    },
  })
  return {
    store: counting,
    get tails() {
      return tails
    },
    reset() {
      tails = 0
    },
  }
}
