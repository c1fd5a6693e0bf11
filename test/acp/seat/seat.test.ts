import { describe, expect, it } from 'vitest'
import { ConnectionEnded, RpcError } from '../../../src/acp/wire/rpc-error.ts'
import { UnavailableError } from '../../../src/core/errors.ts'
import type { MessageId } from '../../../src/core/ids.ts'
import { collectPages } from '../../../src/core/pages.ts'
import { pathOf } from '../../../src/core/path.ts'
import { user } from '../../recorder/place.ts'
import { answer, echo, openSeating, type Seating } from './seating.ts'

/** The agent answers with this text and ends its turn. */
function answering({ seat }: Seating, text: string) {
  return () => {
    seat.hear(answer(text))
    return { stop: 'end_turn' }
  }
}

/** The agent's process ends before it has answered. */
function dying({ seat }: Seating, text?: string) {
  return () => {
    if (text !== undefined) seat.hear(answer(text))
    seat.vacate()
    throw new ConnectionEnded('the agent has ended')
  }
}

async function links({ store, branch }: Seating): Promise<readonly (readonly [string, MessageId | null])[]> {
  return (await collectPages(page => store.listAgentLinks(branch, page))).map(({ foreignId, seen }) => [
    foreignId,
    seen,
  ])
}

async function lastTurn({ store, id }: Seating) {
  return (await collectPages(page => store.listTurns(id, page))).at(-1)!
}

describe('a prompt on a seat', () => {
  it('opens a session with the first prompt, and injects nothing into a new conversation', async () => {
    const seating = await openSeating()
    const { seat, prompt, requests, prompts, said } = seating
    expect(seat).toMatchObject({ sessionId: null, seen: null, isFirstMessage: true, wasResumed: false })
    const { report } = await prompt('one', answering(seating, 'first'))
    expect(seat).toMatchObject({ sessionId: 's1', seen: report.head, isFirstMessage: false })
    await prompt('two', answering(seating, 'second'))
    expect(requests).toEqual(['session/new'])
    expect(prompts).toEqual([
      { sessionId: 's1', injected: null },
      { sessionId: 's1', injected: null },
    ])
    expect(await said()).toEqual(['one', 'first', 'two', 'second'])
  })

  it('stores a link to the session with the last message that the agent has', async () => {
    const seating = await openSeating()
    const { report } = await seating.prompt('one', answering(seating, 'first'))
    expect(await links(seating)).toEqual([['s1', report.head]])
  })

  it('stores that the agent has the question with the first update, before the turn ends', async () => {
    const seating = await openSeating()
    let during: Awaited<ReturnType<typeof links>> = []
    await seating.prompt('one', async () => {
      seating.seat.hear(answer('fi'))
      while (during.length === 0) {
        await new Promise(setImmediate)
        during = await links(seating)
      }
      return { stop: 'end_turn' }
    })
    const [question] = await pathOf(seating.store, (await seating.store.getBranch(seating.branch)).head!)
    expect(during).toEqual([['s1', question!.id]])
  })

  it('takes prompts one at a time, in the order of the calls', async () => {
    const seating = await openSeating()
    const gate = Promise.withResolvers<void>()
    const slow = seating.prompt('one', async () => {
      await gate.promise
      return answering(seating, 'first')()
    })
    const next = seating.prompt('two', answering(seating, 'second'))
    await seating.clock.advance(100)
    expect(seating.prompts).toHaveLength(1)
    gate.resolve()
    await Promise.all([slow, next])
    expect(await seating.said()).toEqual(['one', 'first', 'two', 'second'])
  })

  it('answers other requests after the current prompt', async () => {
    const seating = await openSeating()
    const gate = Promise.withResolvers<void>()
    const prompted = seating.prompt('one', async () => {
      await gate.promise
      return answering(seating, 'first')()
    })
    let memory: unknown = null
    const asked = seating.seat.memory().then(report => {
      memory = report
    })
    await seating.clock.advance(100)
    expect(memory).toBeNull()
    gate.resolve()
    await prompted
    await asked
    expect(memory).toMatchObject({ outcome: 'resumed', injected: 0 })
  })

  it('resolves when the link is stored, because the caller may exit then', async () => {
    let isStored = false
    const seating = await openSeating(({ store }) => ({
      store: {
        ...store,
        async setAgentLink(...link: Parameters<typeof store.setAgentLink>) {
          for (let i = 0; i < 50; i++) await new Promise(setImmediate)
          await store.setAgentLink(...link)
          isStored = true
        },
      },
    }))
    await seating.prompt('one')
    expect(isStored).toBe(true)
  })

  it('does not fail if the link cannot be stored', async () => {
    const seating = await openSeating(({ store }) => ({
      store: { ...store, setAgentLink: () => Promise.reject(new UnavailableError('it is away')) },
    }))
    const { error } = await seating.prompt('one', answering(seating, 'first'))
    expect(error).toBeNull()
    expect(await seating.said()).toEqual(['one', 'first'])
  })

  it('adds updates directly behind the end of the answer to the turn', async () => {
    const seating = await openSeating()
    await seating.prompt('one', () => {
      seating.clock.after(10, () => seating.seat.hear(answer(' end')))
      return answering(seating, 'the')()
    })
    expect(await seating.said()).toEqual(['one', 'the end'])
  })

  it('injects the history into a session that does not know it, and hides its echo', async () => {
    const seating = await openSeating()
    await seating.store.append(seating.branch, null, [user('earlier')])
    await seating.prompt('one', () => {
      const injected = seating.prompts.at(-1)!.injected!
      expect(injected).toContain('User: earlier')
      expect(seating.seat.hear(echo(injected))).toBe('hide')
      expect(seating.seat.hear(echo('one'))).toBe('show')
      return answering(seating, 'first')()
    })
    expect(await seating.said()).toEqual(['earlier', 'one', 'first'])
  })

  it('reports what the turn has cost', async () => {
    const seating = await openSeating()
    const { end } = await seating.prompt('one', () => {
      seating.seat.hear({ type: 'usage', used: 1, size: 2, cost: 0.5 })
      return { stop: 'end_turn', usage: { input: 7 } }
    })
    expect(end?.usage).toEqual({ cost: 0.5, input: 7 })
    expect((await lastTurn(seating)).usage).toMatchObject({ cost: 0.5, input: 7 })
  })
})

describe('a seat whose session is known', () => {
  /** A second seat on the branch, as after a restart of our process. */
  async function openAgain(before: Seating, options: Parameters<typeof openSeating>[0] = {}) {
    const again = await openSeating({
      store: before.store,
      branch: async () => before.branch,
      source: before.clock,
      ...options,
    })
    return { ...again, clock: before.clock }
  }

  it('resumes it and injects nothing', async () => {
    const before = await openSeating()
    await before.prompt('one', answering(before, 'first'))
    const { seat, requests, clock } = await openAgain(before)
    const memory = seat.memory()
    await clock.advance(300)
    expect(await memory).toMatchObject({ outcome: 'resumed', injected: 0 })
    expect(requests).toEqual(['session/resume s1'])
    expect(seat).toMatchObject({ wasResumed: true, isFirstMessage: true })
  })

  it('begins a new one if the branch has moved back before the messages that the session has seen', async () => {
    const seating = await openSeating()
    await seating.prompt('one', answering(seating, 'first'))
    const { head } = await seating.store.getBranch(seating.branch)
    await seating.store.moveBranch(seating.branch, head, null)
    await seating.prompt('other', answering(seating, 'second'))
    expect(seating.prompts.map(({ sessionId }) => sessionId)).toEqual(['s1', 's2'])
    expect(await links(seating)).toMatchObject([['s2', expect.anything()]])
  })

  it('uses one that a client began itself', async () => {
    const seating = await openSeating()
    seating.seat.begun('editor-1')
    expect(seating.seat).toMatchObject({ sessionId: 'editor-1', wasResumed: false, isFirstMessage: true })
    await seating.prompt('one', answering(seating, 'first'))
    expect(seating.requests).toEqual([])
    expect(seating.prompts).toEqual([{ sessionId: 'editor-1', injected: null }])
  })

  it('hides the replay, and compares it with the store', async () => {
    const before = await openSeating()
    await before.prompt('one', answering(before, 'first'))
    await before.prompt('two', answering(before, 'second'))
    const [, first] = await pathOf(before.store, (await before.store.getBranch(before.branch)).head!)
    await before.store.setAgentLink(before.branch, {
      agent: 'scripted',
      directory: '/work',
      foreignId: 's1',
      seen: first!.id,
    })
    const after = await openAgain(before)
    after.handlers['session/load'] = () => {
      for (const heard of [echo('one'), answer('first')]) expect(after.seat.hear(heard)).toBe('hide')
      expect(after.seat.isSitting).toBe(true)
      return {}
    }
    const memory = after.seat.memory()
    await before.clock.advance(1_000)
    expect(await memory).toMatchObject({ outcome: 'completed', injected: 2 })
    expect(after.requests).toEqual(['session/load s1'])
    expect(after.seat.isSitting).toBe(false)
  })
})

describe('a prompt to an agent that fails', () => {
  it('goes to the next process if the first one died before its first update', async () => {
    const seating = await openSeating()
    const acts = [dying(seating), answering(seating, 'first')]
    const { report, error } = await seating.prompt('one', () => acts.shift()!())
    expect({ error, status: report.status }).toEqual({ error: null, status: 'complete' })
    expect(seating.prompts.map(({ sessionId }) => sessionId)).toEqual(['s1', 's2'])
    expect(await seating.said()).toEqual(['one', 'first'])
  })

  it('goes to a new session then, because the old one may have the question already', async () => {
    const seating = await openSeating()
    await seating.prompt('one', answering(seating, 'first'))
    const acts = [dying(seating), answering(seating, 'second')]
    await seating.prompt('two', () => acts.shift()!())
    expect(seating.requests).toEqual(['session/new', 'session/new'])
    expect(seating.prompts.map(({ sessionId }) => sessionId)).toEqual(['s1', 's1', 's2'])
    expect(seating.prompts[2]!.injected).toContain('User: one')
    expect(seating.prompts[2]!.injected).not.toContain('User: two')
  })

  it('fails if the next process dies as well', async () => {
    const seating = await openSeating()
    const { report, error } = await seating.prompt('one', dying(seating))
    expect(error).toBeInstanceOf(ConnectionEnded)
    expect(report.status).toBe('interrupted')
    expect(seating.prompts).toHaveLength(2)
    expect(seating.seat.sessionId).toBeNull()
  })

  it('is interrupted if the process died after its first update, and the next prompt injects what was stored', async () => {
    const seating = await openSeating({}, {})
    const { report } = await seating.prompt('one', dying(seating, 'half'))
    expect(report.status).toBe('interrupted')
    expect(seating.prompts).toHaveLength(1)
    await seating.prompt('two', answering(seating, 'second'))
    expect(seating.prompts[1]).toMatchObject({ sessionId: 's2' })
    expect(seating.prompts[1]!.injected).toContain('Assistant: [cut off] half')
    expect(await seating.said()).toEqual(['one', 'half', 'two', 'second'])
  })

  it('keeps the session if the agent refused after its first update', async () => {
    const seating = await openSeating()
    const { report, error } = await seating.prompt('one', () => {
      seating.seat.hear(answer('half'))
      throw new RpcError({ code: -32_603, message: 'no more' })
    })
    expect(error).toBeInstanceOf(RpcError)
    expect(report.status).toBe('failed')
    expect(seating.seat).toMatchObject({ sessionId: 's1', seen: report.head })
  })

  it('drops the session if the agent refused before its first update', async () => {
    const seating = await openSeating()
    const refuse = () => {
      throw new RpcError({ code: -32_002, message: 'which session?' })
    }
    expect((await seating.prompt('one', refuse)).report.status).toBe('failed')
    expect(seating.seat.sessionId).toBeNull()
  })

  it('is interrupted if it is aborted while a session is opened, and the next prompt uses that session', async () => {
    const seating = await openSeating()
    const gate = Promise.withResolvers<void>()
    const begun = seating.handlers['session/new']!
    seating.handlers['session/new'] = async params => {
      await gate.promise
      return begun(params)
    }
    const stop = new AbortController()
    const aborted = seating.prompt('one', undefined, { signal: stop.signal })
    await seating.clock.advance(10)
    stop.abort(new DOMException('cancelled', 'AbortError'))
    const { report, error } = await aborted
    expect({ status: report.status, name: (error as Error).name }).toEqual({
      status: 'interrupted',
      name: 'AbortError',
    })
    const next = seating.prompt('two', answering(seating, 'second'))
    await seating.clock.advance(50)
    gate.resolve()
    await next
    expect(seating.requests).toEqual(['session/new'])
    expect(seating.prompts.map(({ sessionId }) => sessionId)).toEqual(['s1'])
  })

  it('stays vacant if no session can be opened', async () => {
    const seating = await openSeating()
    seating.handlers['session/new'] = () => {
      throw new RpcError({ code: -32_000, message: 'sign in first' })
    }
    const { report, error } = await seating.prompt('one')
    expect(error).toMatchObject({ message: 'sign in first' })
    expect(report.status).toBe('failed')
    expect(seating.seat).toMatchObject({ isSitting: false, sessionId: null })
  })
})
