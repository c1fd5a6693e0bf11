import { strict as assert } from 'node:assert'
import type { InvalidError } from '../../core/errors.ts'
import type { ConversationId, MessageId } from '../../core/ids.ts'
import type { Message, NewMessage } from '../../core/message.ts'
import { pathOf } from '../../core/path.ts'
import type { Store } from '../../core/ports.ts'
import type { TailBudget } from '../../core/tail.ts'
import { casesOf, holder, rejects, startConversation, texts } from './build.ts'
import type { ContractCase } from './contract-case.ts'

const it = casesOf('tails')

/** One letter for each message, its role. Each message has as many tokens as its position in the text. */
function talk(roles: string): readonly NewMessage[] {
  const names = { u: 'user', a: 'assistant', t: 'tool_result', s: 'system' } as const
  const messages = [...roles].map((letter, i): NewMessage => {
    return { role: names[letter as keyof typeof names], content: `${letter}${i}`, tokens: i + 1 }
  })
  return messages
}

const sum = (messages: readonly Message[]) => messages.reduce((total, message) => total + message.tokens, 0)

/** The expected tail, computed from the whole path: whole turns, newest first, within the budget; or the
 *  newest messages of a turn that exceeds it. */
function tailOf(path: readonly Message[], budget: TailBudget) {
  const begins = path.map((message, i) => {
    if (i === 0) return true
    return message.turn === null ? message.role === 'user' : message.turn !== path[i - 1]!.turn
  })
  const fits = (i: number) => {
    const rest = path.slice(i)
    return rest.length <= (budget.messages ?? Infinity) && sum(rest) <= (budget.tokens ?? Infinity)
  }
  let oldest = path.length - 1
  while (oldest > 0 && fits(oldest - 1)) oldest--
  const whole = begins.indexOf(true, oldest)
  const from = whole < 0 ? oldest : whole
  return {
    messages: path.slice(from).map(message => message.id),
    turnStart: whole < 0 ? path[begins.lastIndexOf(true)]!.id : null,
    older: from,
    olderTokens: sum(path.slice(0, from)),
  }
}

/** Compares the tails of a message with its whole path, for every relevant budget. */
async function checkTails(store: Store, id: MessageId): Promise<void> {
  const path = await pathOf(store, id)
  const total = sum(path)
  const budgets: TailBudget[] = []
  for (let messages = 1; messages <= path.length + 1; messages++) budgets.push({ messages })
  for (let i = 0; i < path.length; i++) {
    const tokens = sum(path.slice(i))
    budgets.push({ tokens }, { tokens: tokens + 1 }, { tokens: Math.max(tokens - 1, 1) })
    budgets.push({ tokens, messages: 3 }, { tokens, messages: 7 })
  }
  budgets.push({ tokens: total * 2, messages: path.length * 2 })
  for (const budget of budgets) await checkTail(store, path, budget)
}

async function checkTail(store: Store, path: readonly Message[], budget: TailBudget): Promise<void> {
  const { messages, turnStart, older, olderTokens } = await store.tail(path.at(-1)!.id, budget)
  const ids = messages.map(message => message.id)
  const got = { messages: ids, turnStart: turnStart?.id ?? null, older, olderTokens }
  assert.deepEqual(got, tailOf(path, budget), `tail for ${JSON.stringify(budget)}`)
}

async function branchAt(store: Store, id: ConversationId, at: MessageId | null, name: string) {
  return store.createBranch(id, at, { name })
}

export const tailCases: readonly ContractCase[] = [
  it('returns the newest messages, oldest first, and counts the older ones (S0-30, S4-15)', async ({
    store,
  }) => {
    const { branch } = await store.create()
    const { head } = await store.append(branch, null, talk('uauaua'))
    const tail = await store.tail(head, { messages: 4 })
    assert.deepEqual(texts(tail.messages), ['u2', 'a3', 'u4', 'a5'])
    assert.deepEqual([tail.older, tail.olderTokens], [2, 3])
  }),
  it('reads back within the token budget (S2-37)', async ({ store }) => {
    const { branch } = await store.create()
    const { head } = await store.append(branch, null, talk('uauaua'))
    assert.deepEqual(texts((await store.tail(head, { tokens: 17 })).messages), ['u4', 'a5'])
    assert.deepEqual(texts((await store.tail(head, { tokens: 18 })).messages), ['u2', 'a3', 'u4', 'a5'])
    const all = await store.tail(head, { tokens: 21 })
    assert.deepEqual([all.messages.length, all.older, all.olderTokens], [6, 0, 0])
  }),
  it('stops at the smaller of two budgets', async ({ store }) => {
    const { branch } = await store.create()
    const { head } = await store.append(branch, null, talk('uauaua'))
    const lengthFor = async (budget: TailBudget) => (await store.tail(head, budget)).messages.length
    assert.equal(await lengthFor({ tokens: 1_000, messages: 5 }), 4)
    assert.equal(await lengthFor({ tokens: 12, messages: 5 }), 2)
    assert.equal(await lengthFor({ tokens: 1_000, messages: 1_000 }), 6)
  }),
  it('returns the newest part of a turn that exceeds the budget, and the beginning of that turn', async ({
    store,
  }) => {
    const { branch } = await store.create()
    const { head, ids } = await store.append(branch, null, talk('uauatata'))
    for (const [budget, expected] of [
      [{ messages: 3 }, ['a5', 't6', 'a7']],
      [{ tokens: 20 }, ['t6', 'a7']],
      // The last message in any case.
      [{ tokens: 1 }, ['a7']],
      [{ tokens: 1, messages: 3 }, ['a7']],
    ] as const) {
      const tail = await store.tail(head, budget)
      assert.deepEqual(texts(tail.messages), expected)
      assert.deepEqual(tail.turnStart, (await store.getMessages([ids[2]!]))[0])
      assert.equal(tail.older + tail.messages.length, 8)
    }
    assert.equal((await store.tail(head, { messages: 6 })).turnStart, null)
  }),
  it('is correct if the head is in the middle of an answer', async ({ store }) => {
    const { branch } = await store.create()
    const { ids } = await store.append(branch, null, talk('uauatatau'))
    const tail = await store.tail(ids[4]!, { messages: 1 })
    assert.deepEqual([texts(tail.messages), tail.turnStart?.id, tail.older], [['t4'], ids[2], 4])
    for (const id of ids) await checkTails(store, id)
  }),
  it('counts a leading answer or system message as a turn', async ({ store }) => {
    const { branch } = await store.create()
    const { head } = await store.append(branch, null, talk('asuaua'))
    const tail = await store.tail(head, { messages: 5 })
    assert.deepEqual([texts(tail.messages), tail.older], [['u2', 'a3', 'u4', 'a5'], 2])
    await checkTails(store, head)
  }),
  it('begins a turn at its first message, not at a user message within it', async ({ store }) => {
    const { branch } = await store.create()
    const first = await store.append(branch, null, talk('ua'), { turn: { key: 't1', step: 0 } })
    const open = { status: 'open', holder: holder() } as const
    const a = await store.append(branch, first.head, talk('ua'), { turn: { key: 't2', step: 0, ...open } })
    const b = await store.append(branch, a.head, talk('tau'), { turn: { key: 't2', step: 1, ...open } })
    const done = { key: 't2', step: 2, holder: holder() }
    const { head } = await store.append(branch, b.head, talk('atau'), { turn: done })
    const tail = await store.tail(head, { messages: 8 })
    assert.deepEqual([tail.messages.length, tail.older, tail.turnStart?.seq], [8, 3, 2])
    await checkTails(store, head)
  }),
  it('starts at the same message for every budget if a message outside turns follows a turn', async ({
    store,
  }) => {
    const { branch } = await store.create()
    const turn = { key: 't', step: 0 }
    const { head } = await store.append(branch, null, talk('ua'), { turn })
    const later = await store.append(branch, head, talk('aua'))
    await checkTails(store, later.head)
  }),
  it('is correct for every budget on a long path with and without turns', async ({ store }) => {
    const { branch } = await store.create()
    let { head } = await store.append(branch, null, talk('uauataauuatatataua'))
    for (let i = 0; i < 6; i++) {
      const turn = { key: `t${i}`, step: 0 }
      head = (await store.append(branch, head, talk('uatatata'.slice(0, 1 + i)), { turn })).head
    }
    head = (await store.append(branch, head, talk('uauata'))).head
    await checkTails(store, head)
  }),
  it('is correct on paths of hundreds of messages, and for a turn of hundreds', async ({ store }) => {
    const { conversation, branch } = await store.create()
    const line = await store.append(branch, null, talk('uat'.repeat(220)))
    const long = await store.append(branch, line.head, talk(`u${'at'.repeat(150)}`), {
      turn: { key: 'long', step: 0 },
    })
    const side = await branchAt(store, conversation.id, line.ids[500]!, 'side')
    const beside = await store.append(side, line.ids[500]!, talk('aua'))
    for (const [head, sizes] of [
      [line.head, [1, 2, 3, 4, 127, 128, 129, 130, 255, 256, 257, 384, 512, 513, 659, 660, 661]],
      [long.head, [1, 32, 33, 128, 129, 301, 302, 303, 304, 400, 960, 961]],
      [beside.head, [3, 4, 5, 6, 130, 131, 132, 260, 504]],
    ] as const) {
      const path = await pathOf(store, head)
      for (const size of sizes) {
        const tokens = sum(path.slice(-size))
        await checkTail(store, path, { messages: size })
        await checkTail(store, path, { tokens })
        await checkTail(store, path, { tokens, messages: 200 })
      }
    }
  }),
  it('is correct if the path leaves a long branch early', async ({ store }) => {
    const { conversation, branch } = await store.create()
    const main = await store.append(branch, null, talk('uatauauatauauatauauauauauauauauaua'))
    for (const [name, at] of [
      ['after an answer', main.ids[3]!],
      ['after a question', main.ids[4]!],
      ['inside an answer', main.ids[8]!],
      ['a second root', null],
    ] as const) {
      const side = await branchAt(store, conversation.id, at, name)
      const { head } = await store.append(side, at, talk('atauauatau'))
      await checkTails(store, head)
    }
    await checkTails(store, main.head)
  }),
  it('is correct if branches were written alternately', async ({ store }) => {
    const { conversation, branch } = await store.create()
    const { head: base } = await store.append(branch, null, talk('uauata'))
    const heads = new Map<string, MessageId>([['main', base]])
    for (const name of ['left', 'right']) {
      await branchAt(store, conversation.id, base, name)
      heads.set(name, base)
    }
    const letters = [...'uatauauaataua']
    for (const [i, letter] of letters.entries()) {
      for (const [name, head] of heads) {
        const [message] = talk(letter)
        const made = await store.append({ conversationId: conversation.id, name }, head, [
          { ...message!, tokens: (i * 7 + name.length) % 11 },
        ])
        heads.set(name, made.head)
      }
    }
    for (const head of heads.values()) await checkTails(store, head)
  }),
  it('leaves out an open turn for a reader of whole turns, and counts as if it did not exist', async ({
    store,
  }) => {
    const { branch } = await store.create()
    const { head } = await store.append(branch, null, talk('uauaua'))
    const turn = { key: 't1', step: 0, status: 'open', holder: holder() } as const
    const open = await store.append(branch, head, talk('ua'), { turn })
    const tail = await store.tail(open.head, { messages: 4 }, { wholeTurns: true })
    assert.deepEqual(texts(tail.messages), ['u2', 'a3', 'u4', 'a5'])
    assert.deepEqual([tail.older, tail.olderTokens], [2, 3])
    const least = await store.tail(open.head, { tokens: 1 }, { wholeTurns: true })
    assert.deepEqual([texts(least.messages), least.older], [['a5'], 5])
    assert.deepEqual(texts([least.turnStart!]), ['u4'])
  }),
  it('refuses an empty or invalid budget', async ({ store }) => {
    const { ids } = await startConversation(store)
    const bad: TailBudget[] = [
      {},
      { tokens: Number.NaN },
      { messages: -1 },
      { messages: 1.5 },
      { tokens: -5 },
    ]
    for (const budget of bad) {
      await rejects<InvalidError>(store.tail(ids[2], budget), 'invalid')
    }
    await rejects(store.tail(ids[2], { tokens: '10' } as unknown as TailBudget), 'invalid')
    assert.equal(texts((await store.tail(ids[2], { messages: 1 })).messages)[0], 'three')
  }),
]
