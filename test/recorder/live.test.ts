import { describe, expect, it } from 'vitest'
import { BusyError, InvalidError, KeyReusedError, NotFoundError } from '../../src/core/errors.ts'
import { sha256Hex } from '../../src/core/hash.ts'
import type { ConversationId } from '../../src/core/ids.ts'
import { collectPages } from '../../src/core/pages.ts'
import { beginTurn } from '../../src/recorder/index.ts'
import { assistant, place, text, user } from './place.ts'

describe('a live turn', () => {
  it('stores the opening messages before it begins, each step as it ends, and its status (S0-34, S1-32)', async () => {
    const { store, branch, id, said, clock } = await place()
    const turn = await beginTurn(store, branch, { words: [user('What is 2 + 2?')], key: 't' }, clock)
    expect(await said()).toEqual(['What is 2 + 2?'])
    expect(await collectPages(page => store.listTurns(id, page))).toMatchObject([
      { key: 't', status: 'open', holder: clock.holder() },
    ])
    const { ids } = await turn.add([assistant('Let me see.')])
    expect(ids).toEqual([turn.head])
    expect(await said()).toEqual(['What is 2 + 2?', 'Let me see.'])
    await turn.add([assistant('4'), assistant('Four.')])
    const report = await turn.end('complete')
    expect(report).toEqual({
      status: 'complete',
      branch,
      head: turn.head,
      saved: true,
      unsaved: [],
    })
    expect(await said()).toEqual(['What is 2 + 2?', 'Let me see.', '4', 'Four.'])
    expect(await collectPages(page => store.listTurns(id, page))).toMatchObject([
      { status: 'complete', lastStep: 2, first: 0, last: 3 },
    ])
    expect((await store.getBranch(branch)).head).toBe(report.head)
  })

  it('stores model, prompt and usage with the turn, and adds the usage to the conversation (S1-33)', async () => {
    const { store, branch, id, clock } = await place()
    const before = await store.getConversation(id)
    const turn = await beginTurn(
      store,
      branch,
      { words: [user('a')], model: 'x/y', prompt: 'Be kind.' },
      clock,
    )
    await clock.advance(1_000)
    await turn.add([assistant('b')], { usage: { input: 10, output: 2 } })
    await turn.add([assistant('c')], { usage: { input: 20, output: 3, cost: 0.5 }, model: 'x/z' })
    await turn.end('complete', { usage: { reasoning: 7 } })
    const [stored] = await collectPages(page => store.listTurns(id, page))
    expect(stored).toMatchObject({
      model: 'x/z',
      promptHash: sha256Hex('Be kind.'),
      usage: { input: 30, output: 5, cost: 0.5, reasoning: 7 },
    })
    const after = await store.getConversation(id)
    expect(after.tokensUsed).toBe(35)
    expect(after.updatedAt.getTime()).toBe(before.updatedAt.getTime() + 1_000)
  })

  it('stores messages in the order of the calls, awaited or not (S0-38)', async () => {
    const { store, branch, said, clock } = await place()
    const turn = await beginTurn(store, branch, { words: [user('go')] }, clock)
    const adding = ['a', 'b', 'c', 'd'].map(name => turn.add([assistant(name)]))
    const report = await turn.end('complete')
    await Promise.all(adding)
    expect(report.saved).toBe(true)
    expect(await said()).toEqual(['go', 'a', 'b', 'c', 'd'])
  })

  it('does not keep the process alive by itself', async () => {
    const { store, branch, clock } = await place()
    const turn = await beginTurn(store, branch, { words: [user('go')] }, clock)
    turn.draft(text('and'))
    expect(clock.timers).toEqual({ all: 2, lively: 0 })
    await turn.end('complete')
    expect(clock.timers.all).toBe(0)
  })

  it('stores trace events next to the messages', async () => {
    const { store, branch, id, clock } = await place()
    const turn = await beginTurn(store, branch, { words: [user('go')] }, clock)
    await turn.trace([{ type: 'tool_started', data: { callId: 'c1' } }])
    expect(await collectPages(page => store.listEvents(id, page))).toMatchObject([
      { type: 'tool_started', data: { callId: 'c1' } },
    ])
    await turn.end('complete')
  })

  it.each(['interrupted', 'failed'] as const)(
    'stores the question and the partial answer if it is %s (S3-76, R27)',
    async status => {
      const { store, branch, id, said, clock } = await place()
      const turn = await beginTurn(store, branch, { words: [user('Tell me all.')] }, clock)
      turn.draft({ type: 'thinking', text: 'Hm.' })
      turn.draft(text('It was a dark '))
      await clock.advance(150)
      turn.draft(text('and stormy'))
      const report = await turn.end(status)
      expect(report).toMatchObject({ status, saved: true })
      expect(await said()).toEqual(['Tell me all.', 'It was a dark and stormy'])
      const [message] = await store.getMessages([report.head!])
      expect(message).toMatchObject({ role: 'assistant', metadata: { [status]: true } })
      expect(message?.content[0]).toEqual({ type: 'thinking', text: 'Hm.' })
      expect(await collectPages(page => store.listTurns(id, page))).toMatchObject([{ status }])
    },
  )

  it('ends once, and ignores later calls of end', async () => {
    const { store, branch, said, clock } = await place()
    const turn = await beginTurn(store, branch, { words: [user('go')] }, clock)
    const report = await turn.end('complete')
    expect(await turn.end('failed')).toBe(report)
    turn.draft(text('late'))
    await expect(turn.add([assistant('late')])).rejects.toBeInstanceOf(InvalidError)
    await expect(turn.trace([{ type: 'plan' }])).rejects.toBeInstanceOf(InvalidError)
    await clock.advance(60_000)
    expect(await said()).toEqual(['go'])
    expect(clock.timers.all).toBe(0)
  })

  it('continues an interrupted turn without opening messages', async () => {
    const { store, branch, id, said, clock } = await place()
    const first = await beginTurn(store, branch, { words: [user('go')] }, clock)
    await first.end('interrupted')
    const second = await beginTurn(store, branch, { words: [] }, clock)
    expect([second.head, second.key, second.reopened]).toEqual([first.head, first.key, true])
    expect(await said()).toEqual(['go'])
    await second.add([assistant('gone')])
    await second.end('complete')
    expect(await said()).toEqual(['go', 'gone'])
    expect((await collectPages(page => store.listTurns(id, page))).map(turn => turn.status)).toEqual([
      'complete',
    ])
    expect((await beginTurn(store, branch, { words: [] }, clock)).reopened).toBe(false)
  })

  it('holds the branch from the start when it continues a turn, and stores what arrives (R27)', async () => {
    const { store, branch, id, said, clock } = await place()
    await (await beginTurn(store, branch, { words: [user('go')] }, clock)).end('failed')
    const second = await beginTurn(store, branch, { words: [] }, clock)
    await expect(beginTurn(store, branch, { words: [] }, clock)).rejects.toBeInstanceOf(BusyError)
    await expect(beginTurn(store, branch, { words: [user('me too')] }, clock)).rejects.toBeInstanceOf(
      BusyError,
    )
    second.draft(text('half'))
    await clock.advance(500)
    expect(await collectPages(page => store.readDraft(id, second.key, page))).toMatchObject([
      { text: 'half' },
    ])
    await second.end('interrupted')
    expect(await said()).toEqual(['go', 'half'])
  })

  it('ends with its last step, in one transaction, if add gets ends', async () => {
    const { store, branch, id, said, clock } = await place()
    const turn = await beginTurn(store, branch, { words: [user('go')] }, clock)
    await turn.add([assistant('gone')], { usage: { output: 3 }, ends: 'complete' })
    const [stored] = await collectPages(page => store.listTurns(id, page))
    expect([stored?.status, stored?.usage.output, stored?.endedAt === null]).toEqual(['complete', 3, false])
    expect(await turn.end('complete')).toMatchObject({ status: 'complete', saved: true, head: turn.head })
    expect(await said()).toEqual(['go', 'gone'])
  })

  it('stores the partial answer of a turn without any stored step', async () => {
    const { store, branch, said, clock } = await place()
    const turn = await beginTurn(store, branch, { words: [] }, clock)
    turn.draft(text('half'))
    await clock.advance(500)
    const report = await turn.end('interrupted')
    expect(report).toMatchObject({ saved: true, status: 'interrupted' })
    expect(await said()).toEqual(['half'])
  })

  it('stores nothing of a turn without messages', async () => {
    const { store, branch, id, clock } = await place()
    const turn = await beginTurn(store, branch, { words: [] }, clock)
    expect(await turn.end('complete')).toMatchObject({ saved: true, head: null })
    expect(await collectPages(page => store.listTurns(id, page))).toEqual([])
  })
})

describe('an invalid request', () => {
  it('throws, and stores nothing', async () => {
    const { store, branch, id, clock } = await place()
    const begin = (words: string, options = {}) =>
      beginTurn(store, branch, { words: [user(words)], ...options }, clock)
    const invalid = { role: 'unknown', content: 'x' } as never
    await expect(beginTurn(store, branch, { words: [invalid] }, clock)).rejects.toBeInstanceOf(InvalidError)
    await expect(begin('x', { key: '' })).rejects.toBeInstanceOf(InvalidError)
    const conversationId = 'ffffffff-ffff-4fff-bfff-ffffffffffff' as ConversationId
    const elsewhere = beginTurn(store, { conversationId, name: 'main' }, { words: [user('x')] }, clock)
    await expect(elsewhere).rejects.toBeInstanceOf(NotFoundError)
    const noBranch = beginTurn(store, { conversationId: id, name: 'nope' }, { words: [user('x')] }, clock)
    await expect(noBranch).rejects.toBeInstanceOf(NotFoundError)
    expect(await collectPages(page => store.listTurns(id, page))).toEqual([])
    const turn = await begin('a', { key: 't' })
    await turn.end('complete')
    await expect(begin('b', { key: 't' })).rejects.toBeInstanceOf(KeyReusedError)
    expect(clock.timers.all).toBe(0)
  })

  it('is refused in the middle of a turn too, which continues with its draft', async () => {
    const { store, branch, said, clock } = await place()
    const turn = await beginTurn(store, branch, { words: [user('go')] }, clock)
    turn.draft(text('half an '))
    await clock.advance(200)
    const bad = turn.add([{ role: 'assistant', content: [{ type: 'text' }] } as never])
    await expect(bad).rejects.toBeInstanceOf(InvalidError)
    turn.draft(text('answer'))
    await turn.end('interrupted')
    expect(await said()).toEqual(['go', 'half an answer'])
  })
})

describe('a key of an earlier turn', () => {
  it('does not store the messages twice, reports the status of the turn, and continues at its end (P4)', async () => {
    const { store, branch, id, said, clock } = await place()
    const begin = () => beginTurn(store, branch, { words: [user('once')], key: 'discord:1' }, clock)
    const first = await begin()
    await first.add([assistant('half')])
    await first.end('interrupted')
    const again = await begin()
    expect(again.replayed).toBe('interrupted')
    expect([again.key, again.reopened]).toEqual(['discord:1', true])
    await again.add([assistant('whole')])
    await again.end('complete')
    expect(await said()).toEqual(['once', 'half', 'whole'])
    expect((await collectPages(page => store.listTurns(id, page))).map(turn => turn.status)).toEqual([
      'complete',
    ])
    expect((await begin()).replayed).toBe('complete')
  })

  it('is busy while another recording in this process holds the turn', async () => {
    const { store, branch, said, clock } = await place()
    const begin = (options = {}) =>
      beginTurn(store, branch, { words: [user('once')], key: 'k', ...options }, clock)
    const first = await begin()
    await expect(begin()).rejects.toBeInstanceOf(BusyError)
    await expect(begin({ onBusy: 'fork' })).rejects.toBeInstanceOf(BusyError)
    const waiting = begin({ onBusy: 'wait' })
    await clock.advance(500)
    await first.add([assistant('answered')])
    await first.end('complete')
    await clock.advance(1_500)
    expect((await waiting).replayed).toBe('complete')
    expect(await said()).toEqual(['once', 'answered'])
  })

  it('is replaced by a new key if the branch has moved since', async () => {
    const { store, branch, id, said, clock } = await place()
    const begin = (word: string, key: string) => beginTurn(store, branch, { words: [user(word)], key }, clock)
    await (await begin('once', 'k')).end('interrupted')
    await (await begin('twice', 'other')).end('failed')
    const again = await begin('once', 'k')
    expect([again.replayed, again.reopened, again.key === 'k']).toEqual(['interrupted', false, false])
    await again.add([assistant('answered')])
    await again.end('complete')
    expect(await said()).toEqual(['once', 'twice', 'answered'])
    const turns = await collectPages(page => store.listTurns(id, page))
    expect(turns.map(turn => turn.status)).toEqual(['interrupted', 'failed', 'complete'])
  })

  it('is reported also for a turn without opening messages, and in the mode at_once', async () => {
    const { store, branch, said, clock } = await place()
    const begin = (options: object) => beginTurn(store, branch, { words: [], key: 'k', ...options }, clock)
    const first = await begin({ words: [user('once')] })
    await first.end('interrupted')
    const second = await begin({})
    expect(second.reopened).toBe(true)
    await second.add([assistant('answered')])
    await second.end('complete')
    const third = await begin({ words: [user('once')], mode: 'at_once' })
    expect(third.replayed).toBe('complete')
    expect(await third.end('complete')).toMatchObject({ saved: true })
    expect(await said()).toEqual(['once', 'answered'])
  })
})
