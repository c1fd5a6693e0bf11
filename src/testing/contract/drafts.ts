import { strict as assert } from 'node:assert'
import type { BranchRef } from '../../core/branch.ts'
import { ExpiredError, type InvalidError, type NotFoundError } from '../../core/errors.ts'
import type { ConversationId, MessageId } from '../../core/ids.ts'
import type { NonEmpty } from '../../core/message.ts'
import { collectPages } from '../../core/pages.ts'
import { pathOf } from '../../core/path.ts'
import type { BranchInConversation, Store } from '../../core/ports.ts'
import type { DraftPiece, TurnEnd, TurnStep } from '../../core/turn.ts'
import {
  appendTexts,
  casesOf,
  holder,
  noConversation,
  rejects,
  said,
  say,
  startConversation,
  texts,
  writers,
} from './build.ts'
import type { ContractCase } from './contract-case.ts'

const it = casesOf('drafts')
const open = (step = 0): TurnStep => ({ key: 't1', step, status: 'open', holder: holder(1) })
const piece = (n: number, text: string, type: DraftPiece['type'] = 'text'): DraftPiece => ({ n, type, text })
const end = (status: TurnEnd['status']): TurnEnd => ({ status, heldBy: holder(1) })

interface Asked extends BranchInConversation {
  readonly id: ConversationId
  readonly question: MessageId
  draft(...pieces: NonEmpty<DraftPiece>): Promise<void>
}

/** A conversation with an open turn `t1` whose question (seq 3) has no answer yet. */
async function asked(store: Store): Promise<Asked> {
  const { conversation, branch, ids } = await startConversation(store)
  const { head } = await store.append(branch, ids[2], [say('question')], { turn: open() })
  return {
    conversation,
    branch,
    id: conversation.id,
    question: head,
    draft: (...pieces) => store.putDraft(conversation.id, 't1', holder(1), pieces),
  }
}

export const draftCases: readonly ContractCase[] = [
  it('returns the pieces of a draft in order, or none', async ({ store }) => {
    const { id, draft } = await asked(store)
    assert.deepEqual(await collectPages(page => store.readDraft(id, 't1', page)), [])
    await draft(piece(0, 'Let me ', 'thinking'))
    await draft(piece(1, 'think.', 'thinking'), piece(2, 'The ans'))
    await draft(piece(3, 'wer 🧵\0\u2028'))
    assert.deepEqual(await collectPages(page => store.readDraft(id, 't1', page)), [
      piece(0, 'Let me ', 'thinking'),
      piece(1, 'think.', 'thinking'),
      piece(2, 'The ans'),
      piece(3, 'wer 🧵\0\u2028'),
    ])
  }),
  it('renews the lease with every piece', async ({ store, clock }) => {
    const { id, draft } = await asked(store)
    clock.now += 29_000
    await draft(piece(0, 'a'))
    const [turn] = await collectPages(page => store.listTurns(id, page))
    assert.equal(turn?.leaseUntil?.getTime(), clock.now + 30_000)
  }),
  it('accepts a repeated piece, refuses another text under its number, and refuses a gap (P4)', async ({
    store,
  }) => {
    const { id, draft } = await asked(store)
    await draft(piece(0, 'a'), piece(1, 'b'))
    await draft(piece(0, 'a'))
    await draft(piece(1, 'b'), piece(2, 'c'))
    await rejects(draft(piece(1, 'other')), 'key_reused')
    await rejects<InvalidError>(draft(piece(4, 'gap')), 'invalid')
    assert.deepEqual(await collectPages(page => store.readDraft(id, 't1', page)), [
      piece(0, 'a'),
      piece(1, 'b'),
      piece(2, 'c'),
    ])
  }),
  it('accepts all pieces of a call or none', async ({ store }) => {
    const { id, draft } = await asked(store)
    await draft(piece(0, 'a'))
    await rejects(draft(piece(1, 'b'), piece(3, 'gap')), 'invalid')
    await rejects(draft(piece(1, 'b'), piece(0, 'other')), 'key_reused')
    assert.deepEqual(await collectPages(page => store.readDraft(id, 't1', page)), [piece(0, 'a')])
  }),
  it('refuses pieces for a turn that is missing, not open or held by another process', async ({ store }) => {
    const { id, draft } = await asked(store)
    const pieces = [piece(0, 'a')] as const
    const error = await rejects<NotFoundError>(store.putDraft(id, 't2', holder(1), pieces), 'not_found')
    assert.deepEqual([error.kind, error.id], ['turn', 't2'])
    const gone = store.putDraft(noConversation, 't1', holder(1), pieces)
    assert.equal((await rejects<NotFoundError>(gone, 'not_found')).kind, 'conversation')
    await rejects(store.putDraft(id, 't1', holder(2), pieces), 'expired')
    assert.deepEqual(await collectPages(page => store.readDraft(id, 't1', page)), [])
    await store.endTurn(id, 't1', end('complete'))
    await rejects(draft(...pieces), 'expired')
    assert.deepEqual(await collectPages(page => store.readDraft(id, 't1', page)), [])
  }),
  it('removes the pieces when their step is appended and counts from 0 for the next step', async ({
    store,
  }) => {
    const { id, branch, question, draft } = await asked(store)
    await draft(piece(0, 'an ans'), piece(1, 'wer'))
    await store.append(branch, question, [say('an answer', 'assistant')], { turn: open(1) })
    assert.deepEqual(await collectPages(page => store.readDraft(id, 't1', page)), [])
    await draft(piece(0, 'more'))
    assert.deepEqual(await collectPages(page => store.readDraft(id, 't1', page)), [piece(0, 'more')])
    assert.deepEqual(await said(store, branch), ['one', 'two', 'three', 'question', 'an answer'])
  }),
  it('turns the pieces of an interrupted turn into its last message, joined by type (S3-76, R27)', async ({
    store,
    clock,
  }) => {
    const { id, branch, question, draft } = await asked(store)
    await draft(piece(0, 'hm ', 'thinking'), piece(1, 'yes', 'thinking'), piece(2, 'The answer'))
    await draft(piece(3, ' is', 'text'), piece(4, 'wait', 'thinking'), piece(5, ' 4'))
    const before = await store.getConversation(id)
    clock.now += 31_000
    const ended = await store.endTurn(id, 't1', end('interrupted'))
    const [message] = await store.getMessages([ended.message!])
    assert.deepEqual(message?.content, [
      { type: 'thinking', text: 'hm yes' },
      { type: 'text', text: 'The answer is' },
      { type: 'thinking', text: 'wait' },
      { type: 'text', text: ' 4' },
    ])
    assert.deepEqual(
      [message.role, message.parentId, message.seq, message.turn, message.metadata, message.depth],
      ['assistant', question, 4, 3, { interrupted: true }, 4],
    )
    assert.equal(message.createdAt.getTime(), clock.now)
    assert.equal((await store.getBranch(branch)).head, ended.message)
    assert.deepEqual([ended.turn.status, ended.turn.first, ended.turn.last], ['interrupted', 3, 4])
    assert.deepEqual(await collectPages(page => store.readDraft(id, 't1', page)), [])
    const after = await store.getConversation(id)
    assert.deepEqual([after.messages, after.tokens], [5, before.tokens + message.tokens])
    assert.ok(after.version > before.version && message.tokens > 0)
    assert.equal(after.updatedAt.getTime(), clock.now)
  }),
  it('joins a character that a stream split between two pieces (R13)', async ({ store }) => {
    const { id, draft } = await asked(store)
    const pieces = [piece(0, 'a thread: \ud83e'), piece(1, '\uddf5 and \ud800'), piece(2, 'alone')] as const
    await draft(...pieces)
    assert.deepEqual(await collectPages(page => store.readDraft(id, 't1', page)), pieces)
    await draft(...pieces)
    const { message } = await store.endTurn(id, 't1', end('complete'))
    const [stored] = await store.getMessages([message!])
    assert.deepEqual(stored?.content, [{ type: 'text', text: 'a thread: 🧵 and \ud800alone' }])
  }),
  it('marks the last message of a failed turn, and none of a complete one', async ({ store }) => {
    for (const [status, meta] of [
      ['failed', { failed: true }],
      ['complete', null],
    ] as const) {
      const { id, draft } = await asked(store)
      await draft(piece(0, 'half'), piece(1, ' way'))
      const { message } = await store.endTurn(id, 't1', end(status))
      const [stored] = await store.getMessages([message!])
      assert.deepEqual(texts([stored!]), ['half way'])
      assert.deepEqual([stored?.metadata, stored?.role], [meta, 'assistant'])
    }
  }),
  it('stores the message of a draft on the branch of its turn after other branches have continued', async ({
    store,
  }) => {
    const { id, branch, question, draft } = await asked(store)
    const side = await store.createBranch(id, question, { name: 'side' })
    await appendTexts(store, side, 'beside')
    await draft(piece(0, 'half an ans'))
    const { message } = await store.endTurn(id, 't1', end('interrupted'))
    assert.deepEqual(await said(store, branch), ['one', 'two', 'three', 'question', 'half an ans'])
    assert.deepEqual(await said(store, side), ['one', 'two', 'three', 'question', 'beside'])
    assert.equal((await store.getMessages([message!]))[0]?.seq, 5)
  }),
  it('keeps nothing of a draft whose turn ended with an append', async ({ store }) => {
    const { id, branch, question, draft } = await asked(store)
    await draft(piece(0, 'an ans'))
    const turn: TurnStep = { key: 't1', step: 1, status: 'complete', holder: holder(1) }
    await store.append(branch, question, [say('an answer', 'assistant')], { turn })
    assert.deepEqual(await collectPages(page => store.readDraft(id, 't1', page)), [])
    assert.equal((await store.getConversation(id)).messages, 5)
    await rejects(draft(piece(0, 'late')), 'expired')
  }),
  it(
    'shows a draft to another handle, which can end the turn in the name of its holder (R2, R27)',
    async world => {
      const { id, branch, draft } = await asked(world.store)
      await draft(piece(0, 'half an ans'))
      const other = await world.second()
      assert.deepEqual(await collectPages(page => other.readDraft(id, 't1', page)), [piece(0, 'half an ans')])
      world.clock.now += 30_001
      const { message } = await other.endTurn(id, 't1', end('interrupted'))
      assert.equal((await world.store.getBranch(branch)).head, message)
      await rejects(draft(piece(1, 'wer')), 'expired')
      assert.deepEqual(await said(other, branch), ['one', 'two', 'three', 'question', 'half an ans'])
    },
    'second handle',
  ),
  it('tells a holder that it has lost its turn, also after its draft has become a message (R8)', async ({
    store,
    clock,
  }) => {
    const { id, branch, question, draft } = await asked(store)
    await draft(piece(0, 'half an ans'))
    clock.now += 30_001
    await store.endTurn(id, 't1', end('interrupted'))
    const late = store.append(branch, question, [say('an answer', 'assistant')], { turn: open(1) })
    await rejects(late, 'expired')
    assert.deepEqual(await said(store, branch), ['one', 'two', 'three', 'question', 'half an ans'])
  }),
  it(
    'lets exactly one of many take over a turn and makes one message of its draft',
    async world => {
      const { id, draft } = await asked(world.store)
      await draft(piece(0, 'half an ans'))
      world.clock.now += 30_001
      const all = await writers(world)
      const results = await Promise.allSettled(all.map(store => store.endTurn(id, 't1', end('interrupted'))))
      assert.equal(results.filter(result => result.status === 'fulfilled').length, 1)
      for (const result of results) {
        if (result.status === 'rejected')
          assert.ok(result.reason instanceof ExpiredError, String(result.reason))
      }
      assert.equal((await world.store.getConversation(id)).messages, 5)
    },
    'second handle',
  ),
  it(
    'opens a turn for exactly one of many and names the holder to the others',
    async world => {
      const all = await writers(world)
      const { conversation, branch } = await world.store.create()
      let head: MessageId | null = null
      for (let round = 0; round < 10; round++) {
        const ask = (store: Store, pid: number, ref: BranchRef, expected: MessageId | null) =>
          store.append(ref, expected, [say(`asked by ${pid}`)], {
            turn: { key: `${round}/${pid}`, step: 0, status: 'open', holder: holder(pid) },
          })
        const at: MessageId | null = head
        const results = await Promise.allSettled(all.map((store, i) => ask(store, i + 1, branch, at)))
        const [open, ...more] = await collectPages(page =>
          world.store.listTurns(conversation.id, { status: 'open', ...page }),
        )
        assert.equal(more.length, 0)
        let won = 0
        for (const result of results) {
          if (result.status === 'fulfilled') won++
          else assert.deepEqual([result.reason.code, result.reason.holder], ['busy', open?.holder])
        }
        assert.equal(won, 1)
        await world.store.endTurn(conversation.id, open!.key, { status: 'complete', heldBy: open!.holder! })
        head = (await world.store.getBranch(branch)).head
      }
      assert.equal((await world.store.getConversation(conversation.id)).messages, 10)
    },
    'second handle',
  ),
  it('hides an open turn from readers of whole turns and shows it after it has ended (S0-36, P2)', async ({
    store,
  }) => {
    const { id, branch, question } = await asked(store)
    const { head } = await store.append(branch, question, [say('a step', 'assistant')], { turn: open(1) })
    const whole = { wholeTurns: true } as const
    const ids = (await pathOf(store, head)).map(message => message.id)
    const read = async () => [
      texts(await pathOf(store, head, whole)),
      texts((await store.tail(head, { messages: 100 }, whole)).messages),
      texts(await store.getMessages(ids, whole)),
    ]
    const before = ['one', 'two', 'three']
    assert.deepEqual(await read(), [before, before, before])
    assert.equal((await pathOf(store, head)).length, 5)
    assert.equal((await store.tail(head, { messages: 100 })).messages.length, 5)
    await store.endTurn(id, 't1', end('failed'))
    const after = ['one', 'two', 'three', 'question', 'a step']
    assert.deepEqual(await read(), [after, after, after])
  }),
  it('leaves an open turn out of a path that continues from its middle, and keeps every parent (P2)', async ({
    store,
  }) => {
    const { id, branch, question } = await asked(store)
    const { head } = await store.append(branch, question, [say('a step', 'assistant')], { turn: open(1) })
    const side = await store.createBranch(id, head, { name: 'side' })
    const beside = await appendTexts(store, side, 'beside', 'and on')
    const all = await pathOf(store, beside.head)
    const kept = all.filter(message => message.turn === null)
    assert.deepEqual(texts(kept), ['one', 'two', 'three', 'beside', 'and on'])
    const whole = { wholeTurns: true } as const
    assert.deepEqual(await pathOf(store, beside.head, whole), kept)
    assert.deepEqual((await store.tail(beside.head, { messages: 100 }, whole)).messages, kept)
    const ids = all.map(message => message.id)
    assert.deepEqual(await store.getMessages(ids, whole), kept)
  }),
]
