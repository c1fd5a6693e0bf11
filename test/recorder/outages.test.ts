import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { InvalidError, NotFoundError, OutcomeUnknownError, UnavailableError } from '../../src/core/errors.ts'
import { collectPages } from '../../src/core/pages.ts'
import { beginTurn, type RecorderLimits, type Trouble } from '../../src/recorder/index.ts'
import { settle } from './clockwork.ts'
import type { Fate } from './failing.ts'
import { assistant, type Place, place, text, user } from './place.ts'

const away = { before: new UnavailableError('away') }
const unknown = { after: new OutcomeUnknownError('cut off') }

/** Begins a turn on a store that can fail, and keeps the reported troubles. */
async function begun(options: { limits?: Partial<RecorderLimits> } = {}) {
  const it = await place()
  const told: Trouble[] = []
  const turn = await beginTurn(
    it.failing.store,
    it.branch,
    { words: [user('q')], onTrouble: trouble => told.push(trouble), ...options },
    it.clock,
  )
  const kinds = () => told.map(({ kind }) => kind)
  return { ...it, turn, told, kinds }
}

/** Ends a turn whose end waits for timers. */
async function ended(it: Pick<Awaited<ReturnType<typeof begun>>, 'turn' | 'clock'>, ms = 5_000) {
  const report = it.turn.end('complete')
  await it.clock.advance(ms)
  return report
}

describe('storage that fails during a turn', () => {
  it('lets the turn continue, stores all of it when it is back, and is reported once (S1-39)', async () => {
    const it = await begun()
    it.failing.fate = () => away
    expect(await it.turn.add([assistant('a')])).toEqual({ ids: null })
    expect(it.kinds()).toEqual(['degraded'])
    expect(it.told[0]?.error).toBe(away.before)
    await it.turn.trace([{ type: 'tool_started', data: { callId: 'c' } }])
    await it.turn.add([assistant('b')])
    await it.clock.advance(20_000)
    expect(await it.said()).toEqual(['q'])
    it.failing.heal()
    await it.clock.advance(5_000)
    expect(it.kinds()).toEqual(['degraded', 'recovered'])
    expect(await it.said()).toEqual(['q', 'a', 'b'])
    expect((await it.turn.add([assistant('c')])).ids).toEqual([it.turn.head])
    expect(await it.turn.end('complete')).toMatchObject({ saved: true, unsaved: [] })
    expect(await it.said()).toEqual(['q', 'a', 'b', 'c'])
  })

  it('is reported again with the reason if the store was only slow at first', async () => {
    const it = await begun()
    it.failing.fate = () => ({ late: away.before })
    const added = it.turn.add([assistant('a')])
    await it.clock.advance(2_000)
    expect(await added).toEqual({ ids: null })
    expect(it.told.map(({ error }) => String(error))).toEqual([
      'UnavailableError: the store takes too long to answer',
    ])
    it.failing.heal()
    await it.clock.advance(5_000)
    expect(it.kinds()).toEqual(['degraded', 'degraded', 'recovered'])
    expect(it.told[1]?.error).toBe(away.before)
    const events = await collectPages(page => it.store.listEvents(it.id, page))
    expect(events[0]?.data).toEqual({ error: 'unavailable: away' })
    await it.turn.end('complete')
  })

  it('is traced in the events, and messages keep their original times', async () => {
    const it = await begun()
    it.failing.fate = () => away
    const from = it.clock.now()
    await it.turn.add([assistant('a')])
    await it.turn.trace([{ type: 'plan' }])
    await it.clock.advance(7_000)
    it.failing.heal()
    await it.clock.advance(5_000)
    const events = await collectPages(page => it.store.listEvents(it.id, page))
    expect(events.map(({ type }) => type)).toEqual(['plan', 'degraded', 'recovered'])
    expect(events.map(({ createdAt: at }) => at.getTime()).slice(0, 2)).toEqual([from, from])
    expect(events[1]?.data).toEqual({ error: 'unavailable: away' })
    const [message] = await it.store.getMessages([it.turn.head!])
    expect(message?.createdAt.getTime()).toBe(from)
    await it.turn.end('complete')
  })

  it('is retried with growing pauses, and with short ones at the end', async () => {
    const it = await begun()
    it.failing.fate = () => away
    await it.turn.add([assistant('a')])
    const tries = it.failing.calls.length
    await it.clock.advance(60_000)
    expect(it.failing.calls.length - tries).toBeLessThan(40)
    const before = it.failing.calls.length
    const report = it.turn.end('complete')
    await it.clock.advance(3_000)
    expect(it.failing.calls.length - before).toBeGreaterThan(8)
    it.failing.heal()
    await it.clock.advance(300)
    expect(await report).toMatchObject({ saved: true })
  })

  it('makes the end report unsaved messages after five seconds, which are stored later (S1-39)', async () => {
    const it = await begun()
    await it.turn.add([assistant('a')])
    it.failing.fate = () => away
    await it.turn.add([assistant('b')])
    await it.turn.add([assistant('c')])
    it.turn.draft(text('and so'))
    const report = it.turn.end('interrupted')
    let done = false
    void report.then(() => {
      done = true
    })
    await it.clock.advance(4_900)
    expect(done).toBe(false)
    await it.clock.advance(200)
    const { whenSaved, ...said } = await report
    expect(said).toEqual({
      status: 'interrupted',
      branch: it.branch,
      head: it.turn.head,
      saved: false,
      unsaved: [
        assistant('b'),
        assistant('c'),
        { role: 'assistant', content: [text('and so')], metadata: { interrupted: true } },
      ],
    })
    it.failing.heal()
    await it.clock.advance(2_000)
    expect(await whenSaved).toMatchObject({ saved: true, unsaved: [] })
    expect(await it.said()).toEqual(['q', 'a', 'b', 'c', 'and so'])
    expect(it.clock.timers.all).toBe(0)
  })

  it('does not delay a step for more than two seconds if it hangs', async () => {
    const it = await begun()
    it.failing.fate = () => 'hangs'
    const adding = it.turn.add([assistant('a')])
    await it.clock.advance(2_000)
    expect(await adding).toEqual({ ids: null })
    expect(it.kinds()).toEqual(['degraded'])
    expect(await it.turn.add([assistant('b')])).toEqual({ ids: null })
    it.failing.heal()
    await it.clock.advance(1_000)
    expect(it.kinds()).toEqual(['degraded', 'recovered'])
    expect(await ended(it)).toMatchObject({ saved: true })
    expect(await it.said()).toEqual(['q', 'a', 'b'])
  })

  it('does not fail the turn if the listener throws', async () => {
    const it = await place()
    const onTrouble = () => {
      throw new Error('the terminal is gone')
    }
    const turn = await beginTurn(it.failing.store, it.branch, { words: [user('q')], onTrouble }, it.clock)
    it.failing.fate = () => away
    await turn.add([assistant('a')])
    it.failing.heal()
    await it.clock.advance(1_000)
    await turn.end('complete')
    expect(await it.said()).toEqual(['q', 'a'])
  })

  it('refuses invalid messages also while it fails', async () => {
    const it = await begun()
    it.failing.fate = () => away
    await it.turn.add([assistant('a')])
    const bad = it.turn.add([{ role: 'unknown', content: '' } as never])
    await expect(bad).rejects.toBeInstanceOf(InvalidError)
    // The caller no longer waits for this one; it is dropped, and the rest is stored.
    await it.turn.trace([{ type: 'nonsense' as never }])
    it.failing.heal()
    await it.clock.advance(1_000)
    expect(await ended(it)).toMatchObject({ saved: true })
    expect(it.kinds()).toEqual(['degraded', 'lost', 'recovered'])
    expect(await it.said()).toEqual(['q', 'a'])
  })

  it('refuses invalid messages also while only the trace of an outage is queued', async () => {
    const it = await begun()
    it.failing.fate = () => away
    await it.turn.add([assistant('a')])
    it.failing.fate = method => (method === 'addEvents' ? away : null)
    await it.clock.advance(1_000)
    expect([await it.said(), it.kinds()]).toEqual([['q', 'a'], ['degraded']])
    const bad = it.turn.add([{ role: 'unknown', content: '' } as never])
    await expect(bad).rejects.toBeInstanceOf(InvalidError)
    await it.turn.add([assistant('b')])
    expect(await ended(it)).toMatchObject({ saved: true, unsaved: [] })
    expect(await it.said()).toEqual(['q', 'a', 'b'])
  })

  it('lets the turn continue if the conversation was moved to the trash, and returns its messages', async () => {
    const it = await begun()
    await it.store.trash(it.id)
    it.turn.draft(text('half'))
    await it.clock.advance(11_000)
    expect(it.kinds()).toEqual([])
    expect(await it.turn.add([assistant('a')])).toEqual({ ids: null })
    expect(it.kinds()).toEqual(['lost'])
    expect(it.told[0]?.error).toBeInstanceOf(NotFoundError)
    expect(await it.turn.add([assistant('b')])).toEqual({ ids: null })
    it.turn.draft(text('half'))
    const unsaved = [assistant('a'), assistant('b'), { role: 'assistant', content: [text('half')] }]
    expect(await ended(it)).toMatchObject({ saved: false, unsaved })
    expect(it.kinds()).toEqual(['lost'])
  })
})

describe('the opening messages', () => {
  it('are reported as unsaved after two seconds, before the turn begins, and stored later (S1-39)', async () => {
    const it = await place()
    const told: string[] = []
    it.failing.fate = () => away
    const onTrouble = ({ kind }: Trouble) => told.push(kind)
    const beginning = beginTurn(it.failing.store, it.branch, { words: [user('q')], onTrouble }, it.clock)
    void beginning.then(() => told.push('begun'))
    await it.clock.advance(1_900)
    expect(told).toEqual(['degraded'])
    await it.clock.advance(100)
    expect(told).toEqual(['degraded', 'unsaved', 'begun'])
    const turn = await beginning
    await turn.add([assistant('a')])
    it.failing.heal()
    await it.clock.advance(5_000)
    expect(told).toEqual(['degraded', 'unsaved', 'begun', 'recovered'])
    expect(await it.said()).toEqual(['q', 'a'])
    expect(await turn.end('complete')).toMatchObject({ saved: true, head: turn.head })
  })

  it('do not delay the turn for longer if storage hangs', async () => {
    const it = await place()
    const told: string[] = []
    it.failing.fate = () => 'hangs'
    const onTrouble = ({ kind }: Trouble) => told.push(kind)
    const beginning = beginTurn(it.failing.store, it.branch, { words: [user('q')], onTrouble }, it.clock)
    await it.clock.advance(2_000)
    const turn = await beginning
    expect(told).toEqual(['degraded', 'unsaved'])
    it.failing.heal()
    await it.clock.advance(100)
    expect(told).toEqual(['degraded', 'unsaved', 'recovered'])
    expect(await turn.end('complete')).toMatchObject({ saved: true })
    expect(await it.said()).toEqual(['q'])
  })

  it('are stored without a report if that takes less', async () => {
    const it = await place()
    const told: string[] = []
    it.failing.fate = () => away
    const onTrouble = ({ kind }: Trouble) => told.push(kind)
    const beginning = beginTurn(it.failing.store, it.branch, { words: [user('q')], onTrouble }, it.clock)
    await it.clock.advance(1_000)
    it.failing.heal()
    await it.clock.advance(500)
    await beginning
    expect(told).toEqual(['degraded', 'recovered'])
    expect(await it.said()).toEqual(['q'])
  })

  it('fork if another turn holds the branch by then', async () => {
    const it = await place()
    it.failing.fate = () => away
    const beginning = beginTurn(it.failing.store, it.branch, { words: [user('mine')] }, it.clock)
    await it.clock.advance(2_000)
    const turn = await beginning
    const other = { ...it.clock, holder: () => ({ host: 'h', boot: 'b', pid: 1, startedAt: 1 }) }
    await beginTurn(it.store, it.branch, { words: [user('theirs')] }, other)
    it.failing.heal()
    await it.clock.advance(5_000)
    await turn.add([assistant('a')])
    expect(await turn.end('complete')).toMatchObject({ saved: true, branch: { name: 'main-2' } })
    expect(turn.forked).toBe(true)
    expect(await it.said('main-2')).toEqual(['mine', 'a'])
  })

  it('are stored once if the connection breaks after they arrived (P4, R23)', async () => {
    const it = await place()
    let cuts = 0
    it.failing.fate = method => (method === 'append' && cuts++ === 0 ? unknown : null)
    const beginning = beginTurn(it.failing.store, it.branch, { words: [user('q')] }, it.clock)
    await it.clock.advance(500)
    const turn = await beginning
    expect([turn.replayed, turn.head]).toEqual([undefined, expect.any(String)])
    await turn.end('complete')
    expect(await it.said()).toEqual(['q'])
  })
})

describe('a full queue', () => {
  const many = { limits: { waitingWrites: 4, waitingCharacters: 10_000 } }

  it('drops traces and drafts first, and reports it once', async () => {
    const it = await begun(many)
    it.failing.fate = () => away
    await it.turn.trace([{ type: 'plan', data: { n: 0 } }])
    for (let n = 1; n < 8; n++) await it.turn.trace([{ type: 'plan', data: { n } }])
    for (const step of ['a', 'b', 'c']) await it.turn.add([assistant(step)])
    expect(it.kinds()).toEqual(['degraded', 'lost'])
    it.failing.heal()
    await it.clock.advance(1_000)
    expect(await ended(it)).toMatchObject({ saved: true, status: 'complete' })
    expect(await it.said()).toEqual(['q', 'a', 'b', 'c'])
    const plans = await collectPages(page => it.store.listEvents(it.id, { types: ['plan'], ...page }))
    expect(plans.map(({ data }) => data.n)).toEqual([7])
  })

  it('drops the newest messages next, never messages in the middle', async () => {
    const it = await begun(many)
    it.failing.fate = () => away
    for (const step of ['a', 'b', 'c', 'd', 'e', 'f']) await it.turn.add([assistant(step)])
    expect(it.kinds()).toEqual(['degraded', 'lost'])
    it.failing.heal()
    await it.clock.advance(1_000)
    await it.turn.add([assistant('g')])
    const report = await ended(it)
    expect(report).toMatchObject({ saved: false, lost: 3, unsaved: [], status: 'interrupted' })
    expect(await it.said()).toEqual(['q', 'a', 'b', 'c', 'd'])
  })

  it('is also measured in characters', async () => {
    const it = await begun(many)
    it.failing.fate = () => away
    await it.turn.add([assistant('x'.repeat(9_000))])
    it.turn.draft(text('y'.repeat(900)))
    await it.clock.advance(200)
    expect(it.kinds()).toEqual(['degraded'])
    it.turn.draft(text('y'.repeat(200)))
    await it.turn.add([
      { role: 'assistant', content: [{ type: 'image', mime: 'image/png', data: 'z'.repeat(900) }] },
    ])
    expect(it.kinds()).toEqual(['degraded'])
    await it.turn.add([assistant('x'.repeat(200))])
    expect(it.kinds()).toEqual(['degraded', 'lost'])
    expect(await ended(it)).toMatchObject({ saved: false, lost: 1, unsaved: [{}, {}] })
  })
})

describe('random failures', () => {
  type Failure = 'fine' | 'before' | 'after'
  const fates: Record<Failure, Fate> = { fine: null, before: away, after: unknown }
  const failures = fc.array(fc.constantFrom<Failure>('fine', 'fine', 'before', 'after'), { maxLength: 40 })
  const doings = fc.array(fc.constantFrom('add', 'add', 'draft', 'trace', 'wait'), { maxLength: 15 })

  it('leave every message stored exactly once and in order when storage is back (P3, P4)', async () => {
    await fc.assert(
      fc.asyncProperty(failures, doings, fc.boolean(), async (failing, doing, draftLeft) => {
        const it = await place()
        it.failing.fate = (_, call) => fates[failing[call] ?? 'fine']
        const expected = await perform(it, doing, draftLeft)
        expect(await it.said()).toEqual(expected)
        expect(it.clock.timers.all).toBe(0)
        expect(await collectPages(page => it.store.listTurns(it.id, { status: 'open', ...page }))).toEqual([])
        await it.store.close()
      }),
      { seed: 20261116, numRuns: 150 },
    )
  })

  async function perform(it: Place, doing: readonly string[], draftLeft: boolean): Promise<string[]> {
    const expected = ['q']
    const beginning = beginTurn(it.failing.store, it.branch, { words: [user('q')] }, it.clock)
    await it.clock.advance(2_000)
    const turn = await beginning
    for (const what of doing) {
      const n = expected.length
      if (what === 'draft') turn.draft(text(`draft of ${n}`))
      if (what === 'trace') await turn.trace([{ type: 'plan', data: { n } }])
      if (what === 'wait') await it.clock.advance(130)
      if (what === 'add') {
        const adding = turn.add([assistant(`step ${n}`)])
        expected.push(`step ${n}`)
        await settle()
        await adding
      }
    }
    if (draftLeft) {
      await turn.add([assistant('last step')])
      turn.draft(text('half'))
      await it.clock.advance(70)
      turn.draft(text(' an answer'))
      expected.push('last step', 'half an answer')
    } else {
      await turn.add([assistant('the end')])
      expected.push('the end')
    }
    const ending = turn.end('complete', { usage: { output: 1 } })
    await it.clock.advance(1_000_000)
    expect(await ending).toMatchObject({ saved: true, unsaved: [], status: 'complete' })
    return expected
  }
})
